"""The open indexes of a connection, and their ids."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

from posterndb.core import Request, open_request
from posterndb.requests import Requests
from posterndb.rows import Columns, columns_of


class Opening(NamedTuple):
    """An index to be opened: `request` opens it, and is None if it is open already."""

    id: int
    names: Tuple[Any, ...]
    request: Optional[Request[None]]
    requests: Requests[Any]


class Handles:
    """The open indexes of one connection. Indexes that differ only in types share one on the server."""

    def __init__(self) -> None:
        self._ids: Dict[Tuple[Any, ...], int] = {}
        self._next = 0

    def opening(self, database: str, table: str, index: str, columns: Any, filter_columns: Sequence[str]) -> Opening:
        known: Columns[Any] = columns_of(columns)
        names = (database, table, index, known.names, tuple(filter_columns))
        open_id = self._ids.get(names)
        index_id = self._next if open_id is None else open_id
        request = None
        if open_id is None:
            request = open_request(index_id, database, table, index, known.names, filter_columns)
            # Ids are never reused: another task may open another index meanwhile.
            self._next += 1
        return Opening(index_id, names, request, Requests(index_id, known, filter_columns))

    def opened(self, opening: Opening) -> None:
        self._ids[opening.names] = opening.id
