"""The blocking client: connections and open indexes."""

from __future__ import annotations

import collections
import contextlib
import socket
import ssl
import threading
import time
from types import TracebackType
from typing import (
    Any,
    Deque,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Type,
    TypeVar,
    Union,
    overload,
)

from posterndb.core import MAX_REPLY_BYTES, READ_PORT, Reply, ReplyReader, Request, login_request, raw_request
from posterndb.errors import ConnectionError, DatabaseError, Error, ProtocolError, TimeoutError
from posterndb.handles import Handles
from posterndb.index import Index, Outcome, Pipeline
from posterndb.rows import Row

T = TypeVar("T")

# The limit for bytes of requests with unread replies. They fit into the sockets' buffers, so that a server that waits
# for us to read never meets us waiting for it to read.
WINDOW_BYTES = 32 * 1024
RECEIVE_BYTES = 64 * 1024


def tls_context(tls: Union[bool, ssl.SSLContext]) -> Optional[ssl.SSLContext]:
    """True: checks certificates against the system's authorities, and host names."""
    if isinstance(tls, ssl.SSLContext):
        return tls
    if not tls:
        return None
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def final_word(lines: Iterable[bytes]) -> Optional[DatabaseError]:
    """The error that the server sent without a request: `Request timed out`, say."""
    for line in lines:
        try:
            Reply(line).check()
        except DatabaseError as error:
            return error
        except ProtocolError:
            return None
    return None


class Connection:
    """One connection to one port. Threads may share it: each request, or pipeline, has it to itself meanwhile.

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
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._reader = ReplyReader(max_reply_bytes)
        self._lines: Deque[bytes] = collections.deque()
        self._handles = Handles()
        self._timeout = connect_timeout
        self._closed: Optional[str] = None
        login = login_request(user, password, secret)
        deadline = None if connect_timeout is None else time.monotonic() + connect_timeout
        self._socket = self._connect(host, port, unix_socket, tls_context(tls), tls_hostname or host, deadline)
        if login is not None:
            try:
                self.execute(login)
            except BaseException:
                self.close()
                raise
        self._timeout = timeout

    @staticmethod
    def _connect(
        host: str,
        port: int,
        unix_socket: Optional[str],
        tls: Optional[ssl.SSLContext],
        tls_hostname: str,
        deadline: Optional[float],
    ) -> socket.socket:
        where = unix_socket or f"{host}:{port}"
        raw: Optional[socket.socket] = None
        try:
            if unix_socket is not None:
                raw = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                raw.settimeout(seconds_until(deadline))
                raw.connect(unix_socket)
            else:
                raw = socket.create_connection((host, port), seconds_until(deadline))
                raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls is not None:
                raw.settimeout(seconds_until(deadline))
                return tls.wrap_socket(raw, server_hostname=tls_hostname)
            return raw
        except BaseException as error:
            if raw is not None:
                raw.close()
            if isinstance(error, socket.timeout):
                raise TimeoutError(f"no connection to {where} in time") from error
            if isinstance(error, OSError):
                raise ConnectionError(f"cannot connect to {where}: {error}") from error
            raise

    # life

    def __enter__(self) -> "Connection":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection. Closing twice does nothing."""
        self._end("the connection was closed")

    @property
    def closed(self) -> bool:
        return self._closed is not None

    def _end(self, why: str) -> None:
        if self._closed is None:
            self._closed = why
            with contextlib.suppress(OSError):
                self._socket.close()

    def is_alive(self) -> bool:
        """Whether the server has neither closed nor sent anything. Checks the socket only, without a round trip."""
        with self._lock:
            if self._closed is not None:
                return False
            if not self._lines and not self._reader.unfinished:
                try:
                    self._socket.settimeout(0)
                    data = self._socket.recv(RECEIVE_BYTES)
                    told = final_word(self._reader.feed(data)) if data else None
                    self._end(
                        f"the server closed the connection: {told}" if told else "the server closed the connection"
                    )
                    return False
                except (BlockingIOError, ssl.SSLWantReadError):
                    return True
                except (OSError, ProtocolError):
                    pass
            self._end("the connection is broken")
            return False

    # requests

    @overload
    def open(
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
    def open(
        self,
        database: str,
        table: str,
        columns: Union[Sequence[str], Mapping[str, Any]],
        *,
        index: str = "PRIMARY",
        filter_columns: Sequence[str] = (),
    ) -> Index[Row]:
        ...

    def open(
        self, database: str, table: str, columns: Any, *, index: str = "PRIMARY", filter_columns: Sequence[str] = ()
    ) -> Index[Any]:
        """Opens an index of a table. Opening it again costs nothing.

        `columns`: a list of names, all of them text; a mapping from names to types; or a dataclass or NamedTuple, which
        its fields name, and which the rows become. Open as many as you need, they live as long as the connection.
        """
        with self._opening:
            opening = self._handles.opening(database, table, index, columns, filter_columns)
            if opening.request is not None:
                self.execute(opening.request)
                self._handles.opened(opening)
        return Index(self, opening.requests)

    def execute(self, request: Request[T]) -> T:
        """Sends one request and waits for its reply."""
        [outcome] = self._exchange((request,))
        if isinstance(outcome, Error):
            raise outcome
        return outcome

    @overload
    def execute_many(self, requests: Iterable[Request[T]]) -> List[T]:
        ...

    @overload
    def execute_many(self, requests: Iterable[Request[T]], raise_on_error: bool) -> List[Union[T, Error]]:
        ...

    def execute_many(self, requests: Iterable[Request[Any]], raise_on_error: bool = True) -> List[Any]:
        """Sends all of them without waiting in between, and returns the answers, in order.

        They are not one transaction: each succeeds or fails by itself. `raise_on_error`: raises the first error when
        all are answered; otherwise errors are among the results.
        """
        outcomes = self._exchange(tuple(requests))
        if raise_on_error:
            for outcome in outcomes:
                if isinstance(outcome, Error):
                    raise outcome
        return outcomes

    def pipeline(self) -> Pipeline:
        """Collects requests of several kinds to be sent together."""
        return Pipeline(self)

    def raw(self, *tokens: Any) -> Reply:
        """Sends a request of any tokens. Returns its reply, or raises its error."""
        return self.execute(raw_request(*tokens))

    # the wire

    def _exchange(self, requests: Sequence[Request[T]]) -> List[Outcome[T]]:
        """Sends all and reads all replies. Each outcome is a result or an Error."""
        with self._lock:
            outcomes: List[Outcome[T]] = []
            try:
                if self._closed is not None:
                    raise ConnectionError(self._closed)
                if self._lines or self._reader.unfinished:
                    raise ProtocolError("the server sent more than it was asked for")
                self._run(requests, outcomes)
            except (ConnectionError, TimeoutError, ProtocolError) as error:
                self._end(f"the connection is closed: {error}")
                outcomes.append(error)
                outcomes += [ConnectionError(self._closed or "") for _ in requests[len(outcomes) :]]
            except BaseException:
                # Replies may be in flight that the next request would take for its own.
                self._end("a request was interrupted")
                raise
            return outcomes

    def _run(self, requests: Sequence[Request[T]], outcomes: List[Outcome[T]]) -> None:
        sent = flying = 0
        for request in requests:
            if flying <= WINDOW_BYTES // 2 and sent < len(requests):
                first = sent
                while sent < len(requests) and (flying == 0 or flying + len(requests[sent].data) <= WINDOW_BYTES):
                    flying += len(requests[sent].data)
                    sent += 1
                self._send(b"".join([one.data for one in requests[first:sent]]))
            line = self._next_line()
            flying -= len(request.data)
            try:
                outcomes.append(request.result(line))
            except DatabaseError as error:
                outcomes.append(error)

    def _send(self, data: bytes) -> None:
        if not data:
            return
        try:
            self._set_timeout(self._timeout)
            self._socket.sendall(data)
        except socket.timeout as error:
            raise TimeoutError("the server did not take the request in time") from error
        except OSError:
            pass  # The server has closed, perhaps with an error message, which is read next.

    def _next_line(self) -> bytes:
        if self._lines:
            return self._lines.popleft()
        left = self._timeout
        deadline = None if left is None else time.monotonic() + left
        while not self._lines:
            try:
                self._set_timeout(left)
                data = self._socket.recv(RECEIVE_BYTES)
            except socket.timeout as error:
                raise TimeoutError(f"no reply within {self._timeout} s") from error
            except OSError as error:
                raise ConnectionError(f"the connection broke: {error}") from error
            if not data:
                cut = " in the middle of a reply" if self._reader.unfinished else ""
                raise ConnectionError(f"the server closed the connection{cut}")
            self._lines.extend(self._reader.feed(data))
            left = None if self._lines else self._seconds_left(deadline)
        return self._lines.popleft()

    def _seconds_left(self, deadline: Optional[float]) -> Optional[float]:
        try:
            return seconds_until(deadline)
        except socket.timeout as error:
            raise TimeoutError(f"no reply within {self._timeout} s") from error

    def _set_timeout(self, seconds: Optional[float]) -> None:
        """A system call, and mostly the time is the same as before."""
        if self._socket.gettimeout() != seconds:
            self._socket.settimeout(seconds)


def seconds_until(deadline: Optional[float]) -> Optional[float]:
    """For settimeout, where 0 would mean not to wait at all."""
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise socket.timeout("timed out")
    return left
