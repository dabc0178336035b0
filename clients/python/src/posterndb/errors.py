"""All errors, in the hierarchy of the DB-API (PEP 249).

    Error
    |- InterfaceError            this client: a value it cannot send, an index it does not have open
    |  `- ProtocolError          the server sent something else than a reply; the connection is closed
    `- DatabaseError             the server refused, in its words
       |- DataError              a value does not fit its column, or does not fit its Python type
       |- IntegrityError         duplicate key, foreign key, CHECK, NOT NULL
       |- InternalError          an error of the storage engine
       |- ProgrammingError       no such table, index, column; a malformed request
       |- NotSupportedError      this server, or this port, does not support it
       `- OperationalError       outside the program: locks, limits, read-only servers
          |- AuthenticationError not logged in, or the login was refused
          |- PermissionDeniedError  the account lacks a privilege
          |- ConnectionError     the connection is gone; also the builtin ConnectionError
          `- TimeoutError        no answer in time; the connection is closed; also the builtin TimeoutError
"""

from __future__ import annotations

import builtins
import re
from typing import Optional, Type


class Error(Exception):
    """The root of all errors of this package."""


class InterfaceError(Error):
    """Wrong use of the client. Nothing was sent."""


class ProtocolError(InterfaceError):
    """The server sent something else than a reply, or one that does not fit its request. The connection is closed."""


class DatabaseError(Error):
    """The server refused a request.

    `code` is the number at the start of the reply: 1 the server, 2 the request, 3 authentication; None without
    a reply. `message` is the server's text as it came, such as "121" or "Data too long for column 'v' at row 1".
    """

    def __init__(self, message: str, code: Optional[int] = None) -> None:
        super().__init__(message, code)
        self.message = message
        self.code = code

    def __str__(self) -> str:
        meaning = MEANINGS.get(self.message)
        text = f"{self.message} ({meaning})" if meaning else self.message
        return text if self.code is None else f"[{self.code}] {text}"


class DataError(DatabaseError):
    """A value does not fit its column, or a read value does not fit the Python type asked for."""


class IntegrityError(DatabaseError):
    """A duplicate key, a foreign key, a CHECK, NULL in a NOT NULL column."""


class InternalError(DatabaseError):
    """An error of the storage engine, by the server's number."""


class ProgrammingError(DatabaseError):
    """The request names a missing object, or is malformed."""


class NotSupportedError(DatabaseError):
    """This server, or this port, does not support the request."""


class OperationalError(DatabaseError):
    """Not the program's fault: locks, limits, a server that is read-only. A retry may succeed."""


class AuthenticationError(OperationalError):
    """The connection is not logged in, or the login was refused."""


class PermissionDeniedError(OperationalError):
    """The account lacks a privilege."""


class ConnectionError(OperationalError, builtins.ConnectionError):
    """The connection could not be made or is gone. Unanswered requests may have been executed or not."""


class TimeoutError(OperationalError, builtins.TimeoutError):
    """No answer in time; the connection is closed. Unanswered requests may have been executed or not."""


# Sentences for the words and numbers of the `compatible` style.
MEANINGS = {
    "121": "duplicate of a primary or unique key",
    "146": "a row stayed locked for innodb_lock_wait_timeout",
    "149": "deadlock",
    "151": "foreign key: no such parent",
    "152": "foreign key: the parent has children",
    "open_table": "no such table, or it cannot be opened",
    "lock_tables": "the table could not be locked",
    "unauth": "not logged in, or the login was refused",
    "authtype": "the server wants the other kind of login: user and password, or the secret of the port",
    "cmd": "no such command",
    "idxnum": "no such index",
    "fld": "no such column",
    "stmtnum": "the index is not open",
    "syntax": "malformed request",
    "invalueslen": "an empty list of values",
    "filterfld": "no such filter column",
    "filterblob": "TEXT and BLOB can only be compared with NULL",
    "op": "no such operator",
    "klen": "no key values",
    "kpnum": "more key values than the index has parts",
    "readonly": "this port only reads",
    "modop": "no such modification",
    "notimpl": "not implemented",
}

INTEGRITY = re.compile(
    r"(121|151|152)$|Duplicate entry|Cannot (add or update a child|delete or update a parent) row|Column .* cannot be null"
    r"|CONSTRAINT .* failed|Field .* doesn't have a default value"
)
DATA = re.compile(r"Data too long|Data truncated|Out of range|Incorrect |Invalid |Illegal |.* value is out of range")
OPERATIONAL = re.compile(
    r"(146|149)$|lock_tables$|Too many connections|Request timed out|TLS is required|Out of memory|Lock wait|Deadlock"
    r"|The MariaDB server is running with|.*read.only|WSREP"
)
UNSUPPORTED = re.compile(r"(notimpl|filterblob|readonly)$|This door only reads")


def class_of(code: int, message: str) -> Type[DatabaseError]:
    """The exception for an error reply."""
    if code == 3 and message != "TLS is required":
        return PermissionDeniedError if re.search(r"denied to user", message) else AuthenticationError
    if UNSUPPORTED.match(message):
        return NotSupportedError
    if OPERATIONAL.match(message):
        return OperationalError
    if code == 2 or message == "open_table":
        return ProgrammingError
    if INTEGRITY.match(message):
        return IntegrityError
    if DATA.match(message):
        return DataError
    return InternalError if message.isdigit() else DatabaseError
