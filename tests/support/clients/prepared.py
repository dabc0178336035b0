"""Steps of a client with prepared statements, and a client that runs them."""
import struct

from support.clients import sql_session
from support.clients.sql_session import Session

CURSOR = 1
TEXT, INTEGER = b"\xfd\0", b"\x08\0"


def bound(value):
    """The parameters as in COM_STMT_EXECUTE."""
    if isinstance(value, int):
        return struct.pack("<q", value)
    text = value.encode()
    return bytes([len(text)]) + text


class Prepare(str):
    """Prepares a text; its id is stored under the text."""


class Close(str):
    """Closes a statement, by its text."""


class Reset(Close):
    pass


class Other(str):
    """A statement of another connection, on the server's own port."""


# The server stores a trigger's creation time in hundredths of a second. A statement prepared in the same hundredth,
# before it, is not prepared again: perhaps on one side only.
LATER = Other("DO SLEEP(0.02)")


class Execute:
    """`types`: whether it sends the types; `last`: executes the last prepared statement, without an id."""

    def __init__(self, text, *values, types=True, flags=0, last=False):
        self.text, self.values, self.types, self.flags, self.last = text, values, types, flags, last

    def __repr__(self):
        return f"Execute{vars(self)}"


class LongData:
    def __init__(self, text, data):
        self.text, self.data = text, data


class Command:
    def __init__(self, code, payload=b""):
        self.code, self.payload = code, payload


class Client(Session):
    """Runs steps, and returns the answers to each."""

    opens_cursor = False

    def run(self, step):
        if isinstance(step, Prepare):
            self.prepared[step], answer = self.prepare(step)
            return answer
        if isinstance(step, Close):
            code = sql_session.RESET_STATEMENT if isinstance(step, Reset) else sql_session.CLOSE
            self.put(bytes([code]) + self.number(step))
            return self.packet() if code == sql_session.RESET_STATEMENT else b""
        if isinstance(step, Execute):
            self.opens_cursor = step.flags == CURSOR
            try:
                return self.command(sql_session.EXECUTE, self.execution(step))
            finally:
                self.opens_cursor = False
        if isinstance(step, LongData):
            self.put(b"\x18" + self.number(step.text) + b"\0\0" + step.data)
            return b""
        if isinstance(step, Command):
            return self.command(step.code, step.payload)
        return self.query(str(step))

    def answer(self):
        """If a cursor is opened no rows follow."""
        if not self.opens_cursor:
            return super().answer()
        answer = packet = self.packet()
        while packet[4] not in (0xFE, 0xFF) and answer[4] != 0:
            packet = self.packet()
            answer += packet
        return answer

    def number(self, text):
        return struct.pack("<I", self.prepared.get(text) or 777)

    def execution(self, step):
        body = b"\xff\xff\xff\xff" if step.last else self.number(step.text)
        body += struct.pack("<BI", step.flags, 1)
        values = step.values
        if values:
            body += bytes((len(values) + 7) // 8) + bytes([step.types])
            if step.types:
                body += b"".join(INTEGER if isinstance(value, int) else TEXT for value in values)
        return body + b"".join(map(bound, values))
