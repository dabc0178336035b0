"""The parts of an asyncio connection: open indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, List, Optional, Sequence, TypeVar

from posterndb.requests import Filter, Key, Requests, Values

if TYPE_CHECKING:
    from posterndb.asyncio.connection import Connection

T = TypeVar("T")


class Index(Generic[T]):
    """An open index: its methods send requests of `requests`, where each is described, and wait for the answer."""

    def __init__(self, connection: "Connection", requests: Requests[T]) -> None:
        self.connection = connection
        self.requests = requests

    async def get(self, key: Key, *, op: str = "=", filters: Sequence[Filter] = ()) -> Optional[T]:
        """The first row, or None."""
        return await self.connection.execute(self.requests.get(key, op=op, filters=filters))

    async def find(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> List[T]:
        """The rows, in the order of the index."""
        return await self.connection.execute(
            self.requests.find(key, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def insert(self, values: Values) -> Optional[int]:
        """A new row. The id that AUTO_INCREMENT made, 0 if `values` had one, None without AUTO_INCREMENT."""
        return await self.connection.execute(self.requests.insert(values))

    async def upsert(self, values: Values) -> int:
        """A new row, or these values for the one with its key: 1 new, 2 changed, 0 as it was."""
        return await self.connection.execute(self.requests.upsert(values))

    async def insert_ignore(self, values: Values) -> bool:
        """A new row, unless its key is there: whether it was not."""
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
        """Sets the first columns of the index; the others stay. How many rows were found."""
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
        """As update; the rows as they were before."""
        return await self.connection.execute(
            self.requests.update_returning(key, values, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def delete(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> int:
        """Deletes rows. How many."""
        return await self.connection.execute(
            self.requests.delete(key, op=op, limit=limit, offset=offset, filters=filters)
        )

    async def delete_returning(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> List[T]:
        """As delete; the rows that there were."""
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
        """Adds to columns; one that is not named stays, and so does one that is NULL. How many rows."""
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
        """As increment; the rows as they were before."""
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
        """Subtracts. A row that would change its sign is left as it is, and not counted."""
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
        """As decrement; the rows as they were before, those left alone not among them."""
        return await self.connection.execute(
            self.requests.decrement_returning(key, by, op=op, limit=limit, offset=offset, filters=filters)
        )
