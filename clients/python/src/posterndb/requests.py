"""All requests of an open index, as bytes, to keep or to pipeline."""

from __future__ import annotations

import dataclasses
from typing import (
    Any,
    ClassVar,
    Dict,
    Generic,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Protocol,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from posterndb.core import Reply, Request, number
from posterndb.errors import InterfaceError, ProtocolError
from posterndb.rows import Columns
from posterndb.values import Value, encode

T = TypeVar("T")

OPERATORS = {"=", ">", ">=", "<", "<="}
FILTER_OPERATORS = OPERATORS | {"!="}
# More rows than a request may change, or a reply can hold.
ALL = 2**31 - 1


class In:
    """In place of a key value: each of these values in turn. `=` finds all rows of each, other operators the first."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[Value]) -> None:
        self.values = list(values)


class Where(NamedTuple):
    """A filter: skips rows for which the comparison is false. A plain tuple of three means the same."""

    column: str
    op: str
    value: Value


class While(NamedTuple):
    """A filter: the first row for which the comparison is false ends the find."""

    column: str
    op: str
    value: Value


class Dataclass(Protocol):
    """Any instance of a dataclass."""

    __dataclass_fields__: ClassVar[Dict[str, Any]]


Key = Union[Value, In, Tuple[Union[Value, In], ...]]
Values = Union[Mapping[str, Value], Sequence[Value], Dataclass]
Filter = Union[Where, While, Tuple[str, str, Value]]


def count(reply: Reply) -> int:
    """Reads the number of modified rows."""
    if reply.columns != 1 or len(reply.tokens) != 1:
        raise ProtocolError("the reply has no count where there must be one")
    return number(reply.tokens[0], 2**64, reply.tokens[0])


def new_id(reply: Reply) -> Optional[int]:
    """Reads the AUTO_INCREMENT id of an insert; 0 if the row had one, None without AUTO_INCREMENT."""
    if reply.columns == 1 and not reply.tokens:
        return None
    return count(reply)


def inserted(reply: Reply) -> bool:
    return count(reply) != 0


class Requests(Generic[T]):
    """Makes the requests of one open index. T is what its rows become.

    `key` is one value, or a tuple with the values of the first parts of the index. `op` says how rows compare with it:
    = > >= < <=; the last two read downwards. Without a `limit` all rows are meant, as in SQL; `limit` and `offset` count
    rows that pass the filters.
    """

    def __init__(self, index_id: int, columns: Columns[T], filter_columns: Sequence[str]) -> None:
        self._columns = columns
        self._places = {name: place for place, name in enumerate(columns.names)}
        self._filter_places = {name: place for place, name in enumerate(filter_columns)}
        self._prefix = b"%d\t" % index_id

    # reading

    def get(self, key: Key, *, op: str = "=", filters: Sequence[Filter] = ()) -> Request[Optional[T]]:
        """Returns the first row, or None."""
        return Request(self._line(op, key, 1, 0, filters), self._first)

    def find(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> Request[List[T]]:
        """Returns the rows, in the order of the index."""
        return Request(self._line(op, key, limit, offset, filters), self._columns.rows)

    # writing rows

    def insert(self, values: Values) -> Request[Optional[int]]:
        """Inserts a row. Returns the AUTO_INCREMENT id, 0 if `values` had one, None without AUTO_INCREMENT."""
        return Request(self._insertion(b"+", values), new_id)

    def upsert(self, values: Values) -> Request[int]:
        """Inserts a row, or updates the one with its key. Returns 1 for a new row, 2 for a changed one, else 0."""
        return Request(self._insertion(b"U", values), count)

    def insert_ignore(self, values: Values) -> Request[bool]:
        """Inserts a row unless its key exists. Returns whether it was inserted."""
        return Request(self._insertion(b"I", values), inserted)

    # changing rows

    def update(
        self,
        key: Key,
        values: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> Request[int]:
        """Sets the first columns of the index; the others stay. Returns the number of rows found."""
        return Request(self._line(op, key, limit, offset, filters, b"U", self._ordered(values)), count)

    def update_returning(
        self,
        key: Key,
        values: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> Request[List[T]]:
        """As update; returns the rows before the change."""
        return Request(self._line(op, key, limit, offset, filters, b"U?", self._ordered(values)), self._columns.rows)

    def delete(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> Request[int]:
        """Deletes rows. Returns their number."""
        return Request(self._line(op, key, limit, offset, filters, b"D"), count)

    def delete_returning(
        self, key: Key, *, op: str = "=", limit: Optional[int] = None, offset: int = 0, filters: Sequence[Filter] = ()
    ) -> Request[List[T]]:
        """As delete; returns the deleted rows."""
        return Request(self._line(op, key, limit, offset, filters, b"D?"), self._columns.rows)

    def increment(
        self,
        key: Key,
        by: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> Request[int]:
        """Adds to columns; unnamed columns and NULLs stay. Returns the number of rows."""
        return Request(self._line(op, key, limit, offset, filters, b"+", self._ordered(by, gaps=True)), count)

    def increment_returning(
        self,
        key: Key,
        by: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> Request[List[T]]:
        """As increment; returns the rows before the change."""
        line = self._line(op, key, limit, offset, filters, b"+?", self._ordered(by, gaps=True))
        return Request(line, self._columns.rows)

    def decrement(
        self,
        key: Key,
        by: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> Request[int]:
        """Subtracts. A row with a value that would change its sign stays unchanged and is not counted."""
        return Request(self._line(op, key, limit, offset, filters, b"-", self._ordered(by, gaps=True)), count)

    def decrement_returning(
        self,
        key: Key,
        by: Values,
        *,
        op: str = "=",
        limit: Optional[int] = None,
        offset: int = 0,
        filters: Sequence[Filter] = (),
    ) -> Request[List[T]]:
        """As decrement; returns the changed rows before the change."""
        line = self._line(op, key, limit, offset, filters, b"-?", self._ordered(by, gaps=True))
        return Request(line, self._columns.rows)

    # bytes

    def _first(self, reply: Reply) -> Optional[T]:
        rows = self._columns.rows(reply)
        if len(rows) > 1:
            raise ProtocolError("more rows than were asked for")
        return rows[0] if rows else None

    def _insertion(self, verb: bytes, values: Values) -> bytes:
        tokens = self._ordered(values)
        return self._prefix + b"\t".join([verb, b"%d" % len(tokens), *tokens]) + b"\n"

    def _line(
        self,
        op: str,
        key: Key,
        limit: Optional[int],
        offset: int,
        filters: Sequence[Filter],
        verb: bytes = b"",
        values: Sequence[bytes] = (),
    ) -> bytes:
        if op not in OPERATORS:
            raise InterfaceError(f"no such operator: {op!r}")
        rows = ALL if limit is None else limit
        if rows < 1 or offset < 0:
            raise InterfaceError("a limit is 1 or more, an offset 0 or more")
        parts = key if isinstance(key, tuple) else (key,)
        tokens = [op.encode(), b"%d" % len(parts)]
        tokens += [b"" if isinstance(part, In) else encode(part) for part in parts]
        options = self._in_list(parts) + self._filters(filters)
        if verb:
            options += [verb, *values]
        if options or rows != 1 or offset:
            tokens += [b"%d" % rows, b"%d" % offset, *options]
        return self._prefix + b"\t".join(tokens) + b"\n"

    def _in_list(self, parts: Sequence[Any]) -> List[bytes]:
        lists = [(place, part.values) for place, part in enumerate(parts) if isinstance(part, In)]
        if not lists:
            return []
        if len(lists) > 1:
            raise InterfaceError("a request has one In")
        [(place, values)] = lists
        if not values:
            raise InterfaceError("an In without values")
        return [b"@", b"%d" % place, b"%d" % len(values), *map(encode, values)]

    def _filters(self, filters: Sequence[Filter]) -> List[bytes]:
        tokens: List[bytes] = []
        for one in filters:
            column, op, value = one
            place = self._filter_places.get(column)
            if place is None:
                raise InterfaceError(f"{column!r} is not among the filter columns that the index was opened with")
            if op not in FILTER_OPERATORS:
                raise InterfaceError(f"no such operator: {op!r}")
            kind = b"W" if isinstance(one, While) else b"F"
            tokens += [kind, op.encode(), b"%d" % place, encode(value)]
        return tokens

    def _ordered(self, values: Values, gaps: bool = False) -> List[bytes]:
        """The values in the order of the columns. The protocol fills columns from the first on; `gaps`: None skips one."""
        if dataclasses.is_dataclass(values) and not isinstance(values, type):
            values = {name: getattr(values, name) for name in self._columns.names}
        if isinstance(values, Mapping):
            return [encode(value) for value in self._by_name(values, gaps)]
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
            raise InterfaceError("values are a sequence, a mapping by column, or a dataclass")
        if not 1 <= len(values) <= len(self._places):
            raise InterfaceError(f"{len(values)} values for the {len(self._places)} columns of this index")
        return [encode(value) for value in values]

    def _by_name(self, values: Mapping[str, Value], gaps: bool) -> List[Value]:
        unknown = [name for name in values if name not in self._places]
        if unknown or not values:
            raise InterfaceError(f"the index was not opened with {unknown}" if unknown else "no values")
        last = max(self._places[name] for name in values) + 1
        names = self._columns.names[:last]
        if not gaps and len(names) != len(values):
            missing = [name for name in names if name not in values]
            raise InterfaceError(
                f"columns take values from the first on, and {missing} have none: open an index whose first columns are"
                f" {list(values)}"
            )
        return [values.get(name) for name in names]
