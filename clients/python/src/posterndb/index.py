"""The parts of a blocking connection: open indexes and pipelines."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, List, Optional, Sequence, Tuple, Type, TypeVar, Union

from posterndb.core import Request
from posterndb.errors import Error, InterfaceError
from posterndb.requests import Filter, Key, Requests, Values

if TYPE_CHECKING:
    from posterndb.connection import Connection

T = TypeVar("T")
Outcome = Union[T, Error]


class Pending(Generic[T]):
    """The future answer to a request in a pipeline."""

    def __init__(self) -> None:
        self._outcome: List[Outcome[T]] = []

    def result(self) -> T:
        """Returns the answer or raises its error; InterfaceError before the pipeline was executed."""
        if not self._outcome:
            raise InterfaceError("the pipeline has not been executed")
        [outcome] = self._outcome
        if isinstance(outcome, Error):
            raise outcome
        return outcome

    def _settle(self, outcome: Outcome[T]) -> None:
        self._outcome = [outcome]


class Pipeline:
    """Requests that are sent together: `a = pipe.add(users.requests.get(1))`, then `pipe.execute()`, `a.result()`.

    As a context manager it executes at the end of the block, unless that ended in an error.
    """

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._queue: List[Tuple[Request[Any], Pending[Any]]] = []

    def __len__(self) -> int:
        return len(self._queue)

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is None:
            self.execute()

    def add(self, request: Request[T]) -> Pending[T]:
        pending: Pending[T] = Pending()
        self._queue.append((request, pending))
        return pending

    def execute(self, raise_on_error: bool = True) -> List[Any]:
        """Sends the requests, and empties the pipeline. Returns the answer to each, in order."""
        queue, self._queue = self._queue, []
        outcomes = self._connection.execute_many([request for request, _ in queue], False)
        for (_, pending), outcome in zip(queue, outcomes):
            pending._settle(outcome)
        if raise_on_error:
            for outcome in outcomes:
                if isinstance(outcome, Error):
                    raise outcome
        return outcomes


class Index(Generic[T]):
    """An open index: its methods send the requests that `requests` describes, and wait for the answer."""

    def __init__(self, connection: "Connection", requests: Requests[T]) -> None:
        self.connection = connection
        self.requests = requests

    def get(self, key: Key, *, op: str = "=", filters: Sequence[Filter] = ()) -> Optional[T]:
        """Returns the first row, or None."""
        return self.connection.execute(self.requests.get(key, op=op, filters=filters))

    def find(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> List[T]:
        """Returns the rows, in the order of the index."""
        return self.connection.execute(self.requests.find(key, op=op, limit=limit, offset=offset, filters=filters))

    def insert(self, values: Values) -> Optional[int]:
        """Inserts a row. Returns the AUTO_INCREMENT id, 0 if `values` had one, None without AUTO_INCREMENT."""
        return self.connection.execute(self.requests.insert(values))

    def upsert(self, values: Values) -> int:
        """Inserts a row, or updates the one with its key. Returns 1 for a new row, 2 for a changed one, else 0."""
        return self.connection.execute(self.requests.upsert(values))

    def insert_ignore(self, values: Values) -> bool:
        """Inserts a row unless its key exists. Returns whether it was inserted."""
        return self.connection.execute(self.requests.insert_ignore(values))

    def update(
        self,
        key: Key,
        values: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> int:
        """Sets the first columns of the index; the others stay. Returns the number of rows found."""
        return self.connection.execute(
            self.requests.update(key, values, op=op, limit=limit, offset=offset, filters=filters)
        )

    def update_returning(
        self,
        key: Key,
        values: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> List[T]:
        """As update; returns the rows before the change."""
        return self.connection.execute(
            self.requests.update_returning(key, values, op=op, limit=limit, offset=offset, filters=filters)
        )

    def delete(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> int:
        """Deletes rows. Returns their number."""
        return self.connection.execute(self.requests.delete(key, op=op, limit=limit, offset=offset, filters=filters))

    def delete_returning(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> List[T]:
        """As delete; returns the deleted rows."""
        return self.connection.execute(
            self.requests.delete_returning(key, op=op, limit=limit, offset=offset, filters=filters)
        )

    def increment(
        self,
        key: Key,
        by: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> int:
        """Adds to columns; unnamed columns and NULLs stay. Returns the number of rows."""
        return self.connection.execute(
            self.requests.increment(key, by, op=op, limit=limit, offset=offset, filters=filters)
        )

    def increment_returning(
        self,
        key: Key,
        by: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> List[T]:
        """As increment; returns the rows before the change."""
        return self.connection.execute(
            self.requests.increment_returning(key, by, op=op, limit=limit, offset=offset, filters=filters)
        )

    def decrement(
        self,
        key: Key,
        by: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> int:
        """Subtracts. A row with a value that would change its sign stays unchanged and is not counted."""
        return self.connection.execute(
            self.requests.decrement(key, by, op=op, limit=limit, offset=offset, filters=filters)
        )

    def decrement_returning(
        self,
        key: Key,
        by: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> List[T]:
        """As decrement; returns the changed rows before the change."""
        return self.connection.execute(
            self.requests.decrement_returning(key, by, op=op, limit=limit, offset=offset, filters=filters)
        )
