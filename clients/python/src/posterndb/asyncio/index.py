"""The parts of an asyncio connection: open indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, List, Optional, Sequence, TypeVar

from posterndb.requests import Filter, Key, Requests, Values

if TYPE_CHECKING:
    from posterndb.asyncio.connection import Connection

T = TypeVar("T")


class Index(Generic[T]):
    """An open index: its methods send the requests that `requests` describes, and wait for the answer."""

    def __init__(self, connection: "Connection", requests: Requests[T]) -> None:
        self.connection = connection
        self.requests = requests

    async def get(self, key: Key, *, op: str = "=", filters: Sequence[Filter] = ()) -> Optional[T]:
        """Returns the first row, or None."""
        return await self.connection.execute(self.requests.get(key, op=op, filters=filters))

    async def find(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> List[T]:
        """Returns the rows, in the order of the index."""
        return await self.connection.execute(
            self.requests.find(key, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def insert(self, values: Values) -> Optional[int]:
        """Inserts a row. Returns the AUTO_INCREMENT id, 0 if `values` had one, None without AUTO_INCREMENT."""
        return await self.connection.execute(self.requests.insert(values))

    async def upsert(self, values: Values) -> int:
        """Inserts a row, or updates the one with its key. Returns 1 for a new row, 2 for a changed one, else 0."""
        return await self.connection.execute(self.requests.upsert(values))

    async def insert_ignore(self, values: Values) -> bool:
        """Inserts a row unless its key exists. Returns whether it was inserted."""
        return await self.connection.execute(self.requests.insert_ignore(values))

    async def update(
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
        return await self.connection.execute(
            self.requests.update(key, values, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def update_returning(
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
        return await self.connection.execute(
            self.requests.update_returning(key, values, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def delete(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> int:
        """Deletes rows. Returns their number."""
        return await self.connection.execute(
            self.requests.delete(key, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def delete_returning(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> List[T]:
        """As delete; returns the deleted rows."""
        return await self.connection.execute(
            self.requests.delete_returning(key, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def increment(
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
        return await self.connection.execute(
            self.requests.increment(key, by, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def increment_returning(
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
        return await self.connection.execute(
            self.requests.increment_returning(key, by, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def decrement(
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
        return await self.connection.execute(
            self.requests.decrement(key, by, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def decrement_returning(
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
        return await self.connection.execute(
            self.requests.decrement_returning(key, by, op=op, limit=limit, offset=offset, filters=filters)
        )
