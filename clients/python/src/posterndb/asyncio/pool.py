"""A pool of asyncio connections."""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Any, AsyncIterator, List, Optional, Type

from posterndb.asyncio.connection import Connection
from posterndb.errors import InterfaceError, TimeoutError


class Pool:
    """Up to `max_connections` connections, opened on demand; other arguments are Connection's.

    async with pool.connection() as db: ...

    Tasks may share one connection, so a pool is for more sockets, not for more tasks. One that broke is replaced.
    """

    def __init__(
        self, *arguments: Any, max_connections: int = 10, wait_timeout: Optional[float] = 30.0, **options: Any
    ) -> None:
        if max_connections < 1:
            raise InterfaceError("a pool has one connection at least")
        self._arguments = arguments
        self._options = options
        self._max = max_connections
        self._wait = wait_timeout
        self._idle: List[Connection] = []
        self._free: Optional[asyncio.Semaphore] = None
        self._closed = False

    async def __aenter__(self) -> "Pool":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection for this block."""
        if self._closed:
            raise InterfaceError("the pool is closed")
        if self._free is None:
            self._free = asyncio.Semaphore(self._max)
        try:
            await asyncio.wait_for(self._free.acquire(), self._wait)
        except asyncio.TimeoutError:
            raise TimeoutError(f"all {self._max} connections of the pool were busy for {self._wait} s") from None
        try:
            connection = await self._take()
            try:
                yield connection
            finally:
                await self._give_back(connection)
        finally:
            self._free.release()

    async def close(self) -> None:
        """Closes the idle ones now, and the rest when they come back."""
        self._closed = True
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    async def _take(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                return connection
            await connection.close()
        return await Connection(*self._arguments, **self._options)

    async def _give_back(self, connection: Connection) -> None:
        if self._closed or connection.closed:
            await connection.close()
        else:
            self._idle.append(connection)
