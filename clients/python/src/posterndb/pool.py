"""A pool of connections for threads."""

from __future__ import annotations

import contextlib
import threading
import time
from types import TracebackType
from typing import Any, Iterator, List, Optional, Type

from posterndb.connection import Connection
from posterndb.errors import InterfaceError, TimeoutError


class Pool:
    """Up to `max_connections` connections, opened on demand; other arguments are Connection's.

    with pool.connection() as db: ...

    The connection used last is handed out first. One that broke, or that the server closed meanwhile, is replaced.
    Indexes stay open on pooled connections, so `open` in every block costs nothing once each connection has them.
    `wait_timeout`: seconds to wait for a free one, None for as long as it takes.
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
        self._taken = 0
        self._closed = False
        self._changed = threading.Condition()

    def __enter__(self) -> "Pool":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection for this block alone."""
        connection = self._take()
        try:
            yield connection
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Closes the idle ones now, and the rest when they come back."""
        with self._changed:
            self._closed = True
            idle, self._idle = self._idle, []
            self._changed.notify_all()
        for connection in idle:
            connection.close()

    def _take(self) -> Connection:
        deadline = None if self._wait is None else time.monotonic() + self._wait
        with self._changed:
            while self._taken >= self._max and not self._closed:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"all {self._max} connections of the pool were busy for {self._wait} s")
                self._changed.wait(left)
            if self._closed:
                raise InterfaceError("the pool is closed")
            self._taken += 1
        try:
            while True:
                with self._changed:
                    idle = self._idle.pop() if self._idle else None
                if idle is None:
                    return Connection(*self._arguments, **self._options)
                if idle.is_alive():
                    return idle
        except BaseException:
            self._release()
            raise

    def _give_back(self, connection: Connection) -> None:
        with self._changed:
            kept = not connection.closed and not self._closed
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()
        self._release()

    def _release(self) -> None:
        with self._changed:
            self._taken -= 1
            self._changed.notify()
