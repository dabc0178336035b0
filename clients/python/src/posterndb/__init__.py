"""A client for HandlerSocket, as Postern and the original speak it: rows of MariaDB by key, without SQL.

    import posterndb

    with posterndb.connect("127.0.0.1", posterndb.WRITE_PORT) as db:
        users = db.open("test", "user", ["user_id", "user_name"])
        users.insert([101, "Yukari Takeba"])
        print(users.get(101))

posterndb.asyncio has the same with `await`.
"""

from posterndb.connection import Connection
from posterndb.core import READ_PORT, WRITE_PORT, Reply, Request
from posterndb.errors import (
    AuthenticationError,
    ConnectionError,
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    PermissionDeniedError,
    ProgrammingError,
    ProtocolError,
    TimeoutError,
)
from posterndb.index import Index, Pending, Pipeline
from posterndb.pool import Pool
from posterndb.requests import In, Requests, Where, While
from posterndb.rows import Row

__version__ = "0.1.0"

connect = Connection

__all__ = [
    "AuthenticationError",
    "Connection",
    "ConnectionError",
    "DataError",
    "DatabaseError",
    "Error",
    "In",
    "Index",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "Pending",
    "PermissionDeniedError",
    "Pipeline",
    "Pool",
    "ProgrammingError",
    "ProtocolError",
    "READ_PORT",
    "Reply",
    "Request",
    "Requests",
    "Row",
    "TimeoutError",
    "WRITE_PORT",
    "Where",
    "While",
    "connect",
]
