"""The same client for asyncio: `import posterndb.asyncio as posterndb`, and `await`.

Tasks may share a connection, and should: their concurrent requests go out together, without waiting for each other's
replies, so `asyncio.gather(*(users.get(key) for key in keys))` is a pipeline. A cancelled task only loses its
answer; its requests may have been executed.
"""

from posterndb.asyncio.connection import Connection
from posterndb.asyncio.index import Index
from posterndb.asyncio.pool import Pool
from posterndb.core import READ_PORT, WRITE_PORT
from posterndb.requests import In, Where, While

connect = Connection

__all__ = ["Connection", "In", "Index", "Pool", "READ_PORT", "WRITE_PORT", "Where", "While", "connect"]
