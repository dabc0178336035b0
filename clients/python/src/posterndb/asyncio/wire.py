"""An asyncio socket, and the futures of its replies."""

from __future__ import annotations

import asyncio
import collections
from typing import Any, Deque, List, Optional, Tuple, TypeVar, cast

from posterndb.connection import final_word
from posterndb.core import ReplyReader, Request
from posterndb.errors import ConnectionError, DatabaseError, Error, ProtocolError, TimeoutError

T = TypeVar("T")

# Above this many bytes requests are sent before the end of the loop's turn.
SEND_BYTES = 64 * 1024
# TLS sends a close_notify, which a hanging server does not answer.
CLOSE_SECONDS = 1.0


class Wire(asyncio.Protocol):
    """One socket: requests out, replies in, each to the future that waits for it, in order."""

    def __init__(self, max_reply_bytes: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.timeout: Optional[float] = None
        self.error: Optional[Error] = None
        self._untold: Optional[Error] = None
        self.gone = self.loop.create_future()
        self._reader = ReplyReader(max_reply_bytes)
        self._pending: Deque[Tuple[Request[Any], "asyncio.Future[Any]"]] = collections.deque()
        self._transport: Optional[asyncio.Transport] = None
        self._outgoing: List[bytes] = []
        self._outgoing_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._timer: Optional[asyncio.TimerHandle] = None
        self._waiting_since = 0.0

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self.error is not None:
            return
        try:
            lines = self._reader.feed(data)
        except ProtocolError as error:
            return self.fail(error)
        for at, line in enumerate(lines):
            if not self._pending:
                told = final_word(lines[at:])
                return self.fail(told or ProtocolError("the server sent more than it was asked for"))
            self._answer(line)
            if self.error is not None:
                return None
        if lines:
            self._waiting_since = self.loop.time()
        return None

    def eof_received(self) -> bool:
        cut = " in the middle of a reply" if self._reader.unfinished else ""
        self.fail(ConnectionError(f"the server closed the connection{cut}"))
        return False

    def connection_lost(self, reason: Optional[Exception]) -> None:
        self.fail(ConnectionError(f"the connection broke: {reason}" if reason else "the server closed the connection"))
        if not self.gone.done():
            self.gone.set_result(None)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    # what connections call

    async def submit(self, request: Request[T]) -> "asyncio.Future[T]":
        """Sends a request as soon as there is room; returns the future of its result."""
        await self._room.wait()
        if self.error is not None:
            untold, self._untold = self._untold, None
            raise untold or ConnectionError(f"the connection is closed: {self.error}")
        if not self._outgoing:
            self.loop.call_soon(self._flush)
        self._outgoing.append(request.data)
        self._outgoing_bytes += len(request.data)
        future: "asyncio.Future[T]" = self.loop.create_future()
        if not self._pending:
            self._waiting_since = self.loop.time()
            self._watch()
        self._pending.append((request, future))
        if self._outgoing_bytes >= SEND_BYTES:
            self._flush()
        return future

    def fail(self, error: Error) -> None:
        """The end of the connection: all waiters get the error."""
        if self.error is not None:
            return
        self.error = error
        self._untold = None if self._pending else error
        self._room.set()
        if self._timer is not None:
            self._timer.cancel()
        for _, future in self._pending:
            if not future.done():
                future.set_exception(error)
            error = ConnectionError(f"the connection is closed: {self.error}")
        self._pending.clear()
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        self.fail(ConnectionError("the connection was closed"))
        if transport is not None:
            transport.close()
            await asyncio.wait([self.gone], timeout=CLOSE_SECONDS)
            transport.abort()

    # inside

    def _flush(self) -> None:
        if self._outgoing and self.error is None and self._transport is not None:
            self._transport.write(b"".join(self._outgoing))
        self._outgoing.clear()
        self._outgoing_bytes = 0

    def _answer(self, line: bytes) -> None:
        request, future = self._pending.popleft()
        try:
            result = request.result(line)
        except ProtocolError as error:
            self._pending.appendleft((request, future))
            self.fail(error)
        except DatabaseError as error:
            if not future.done():
                future.set_exception(error)
        else:
            if not future.done():
                future.set_result(result)

    def _watch(self) -> None:
        if self.timeout is not None and self._timer is None:
            self._timer = self.loop.call_at(self._waiting_since + self.timeout, self._look)

    def _look(self) -> None:
        """Is the next reply late? One timer for all of them."""
        self._timer = None
        if not self._pending or self.timeout is None:
            return
        if self.loop.time() >= self._waiting_since + self.timeout:
            self.fail(TimeoutError(f"no reply within {self.timeout} s"))
        else:
            self._watch()
