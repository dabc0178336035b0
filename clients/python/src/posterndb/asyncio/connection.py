"""Connections of asyncio."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import Any, Generator, Iterable, List, Mapping, Optional, Sequence, Type, TypeVar, Union, overload

from posterndb.asyncio.index import Index
from posterndb.asyncio.wire import Wire
from posterndb.connection import tls_context
from posterndb.core import MAX_REPLY_BYTES, READ_PORT, Reply, Request, login_request, raw_request
from posterndb.errors import ConnectionError, Error, InterfaceError, OperationalError, TimeoutError
from posterndb.handles import Handles
from posterndb.rows import Row

T = TypeVar("T")


class Connection:
    """One connection to one port: `async with posterndb.connect(...) as db`, or `db = await posterndb.connect(...)`.

    After a ConnectionError, TimeoutError or ProtocolError it is closed, for good: make another one, or use a Pool.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = READ_PORT,
        *,
        unix_socket: Optional[str] = None,
        user: Optional[str] = None,
        password: str = "",
        secret: Optional[str] = None,
        tls: Union[bool, ssl.SSLContext] = False,
        tls_hostname: Optional[str] = None,
        timeout: Optional[float] = 60.0,
        connect_timeout: Optional[float] = 10.0,
        max_reply_bytes: int = MAX_REPLY_BYTES,
    ) -> None:
        self._where = unix_socket or f"{host}:{port}"
        self._address = (host, port, unix_socket)
        self._login = login_request(user, password, secret)
        self._tls = tls_context(tls)
        self._tls_hostname = tls_hostname or host
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._max_reply_bytes = max_reply_bytes
        self._handles = Handles()
        self._wire: Optional[Wire] = None

    # life

    def __await__(self) -> Generator[Any, None, "Connection"]:
        return self._connected().__await__()

    async def __aenter__(self) -> "Connection":
        return await self._connected()

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def _connected(self) -> "Connection":
        if self._wire is None:
            try:
                await asyncio.wait_for(self._connect(), self._connect_timeout)
            except asyncio.TimeoutError as error:
                await self.close()
                if isinstance(error, OperationalError):
                    raise
                raise TimeoutError(f"no connection to {self._where} in time") from error
            except BaseException:
                await self.close()
                raise
        return self

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        host, port, unix_socket = self._address
        hostname = self._tls_hostname if self._tls is not None else None
        wire = self._wire = Wire(self._max_reply_bytes)
        try:
            if unix_socket is not None:
                await loop.create_unix_connection(lambda: wire, unix_socket, ssl=self._tls, server_hostname=hostname)
            else:
                await loop.create_connection(lambda: wire, host, port, ssl=self._tls, server_hostname=hostname)
        except OSError as error:
            wire.connection_lost(error)
            raise ConnectionError(f"cannot connect to {self._where}: {error}") from error
        if self._login is not None:
            await self.execute(self._login)
        wire.timeout = self._timeout

    async def close(self) -> None:
        """Ends the connection. Closing twice does nothing."""
        if self._wire is not None:
            await self._wire.close()

    @property
    def closed(self) -> bool:
        return self._wire is not None and self._wire.error is not None

    # requests

    @overload
    async def open(
        self,
        database: str,
        table: str,
        columns: Type[T],
        *,
        index: str = "PRIMARY",
        filter_columns: Sequence[str] = (),
    ) -> Index[T]:
        ...

    @overload
    async def open(
        self,
        database: str,
        table: str,
        columns: Union[Sequence[str], Mapping[str, Any]],
        *,
        index: str = "PRIMARY",
        filter_columns: Sequence[str] = (),
    ) -> Index[Row]:
        ...

    async def open(
        self, database: str, table: str, columns: Any, *, index: str = "PRIMARY", filter_columns: Sequence[str] = ()
    ) -> Index[Any]:
        """Opens an index of a table. Opening it again costs nothing. See posterndb.Connection.open."""
        opening = self._handles.opening(database, table, index, columns, filter_columns)
        if opening.request is not None:
            await self.execute(opening.request)
            self._handles.opened(opening)
        return Index(self, opening.requests)

    async def execute(self, request: Request[T]) -> T:
        """Sends one request and waits for its reply."""
        return await (await self._ready().submit(request))

    @overload
    async def execute_many(self, requests: Iterable[Request[T]]) -> List[T]:
        ...

    @overload
    async def execute_many(self, requests: Iterable[Request[T]], raise_on_error: bool) -> List[Union[T, Error]]:
        ...

    async def execute_many(self, requests: Iterable[Request[Any]], raise_on_error: bool = True) -> List[Any]:
        """Sends all of them without waiting in between, and returns the answers, in order.

        They are not one transaction: each succeeds or fails by itself. `raise_on_error`: raises the first error when
        all are answered; otherwise errors are among the results.
        """
        wire = self._ready()
        futures: List["asyncio.Future[Any]"] = []
        outcomes: List[Any] = []
        try:
            for request in requests:
                futures.append(await wire.submit(request))
        except Error as error:
            outcomes.append(error)
        outcomes[:0] = await asyncio.gather(*futures, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and (raise_on_error or not isinstance(outcome, Error)):
                raise outcome
        return outcomes

    async def raw(self, *tokens: Any) -> Reply:
        """Sends a request of any tokens. Returns its reply, or raises its error."""
        return await self.execute(raw_request(*tokens))

    def _ready(self) -> Wire:
        if self._wire is None:
            raise InterfaceError("not connected yet: await the connection first")
        return self._wire
