"""The rows of an index as named tuples, or as a class of the program."""

from __future__ import annotations

import dataclasses
import operator
import sys
import typing
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ClassVar,
    Dict,
    Generic,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from posterndb.core import Reply
from posterndb.errors import DataError, InterfaceError, ProtocolError
from posterndb.values import NULL, Decoder, decode, decoder, unescape

T = TypeVar("T")


class Row(Tuple[Any, ...]):
    """The columns of a row, by position, as attributes, or by name: row[0], row.user_name, row.asdict()["user_name"]."""

    __slots__ = ()
    _fields: ClassVar[Tuple[str, ...]] = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            ...

    def asdict(self) -> Dict[str, Any]:
        return dict(zip(self._fields, self))

    def __repr__(self) -> str:
        return "Row(" + ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self)) + ")"

    def __reduce__(self) -> Tuple[Callable[..., "Row"], Tuple[Any, ...]]:
        return make_row, (self._fields, tuple(self))


# Names that a column must not hide.
KEPT = {name for name in dir(Row) if name not in ("count", "index")}


def row_class(names: Sequence[str]) -> Type[Row]:
    # Not by __getattr__, so that a column may be called count or index, as methods of tuples are.
    members: Dict[str, Any] = {"__slots__": (), "_fields": tuple(names)}
    members.update((name, property(operator.itemgetter(at))) for at, name in enumerate(names) if name not in KEPT)
    return type("Row", (Row,), members)


def make_row(names: Sequence[str], values: Iterable[Any]) -> Row:
    return row_class(names)(values)


class Columns(Generic[T]):
    """The columns of an open index, in their order: names, a decoder for each, and the type of a whole row."""

    def __init__(
        self,
        names: Sequence[str],
        decoders: Sequence[Decoder],
        optional: Sequence[bool],
        make: Callable[[List[Any]], T],
    ) -> None:
        self.names = tuple(names)
        self.decoders = tuple(decoders)
        self.optional = tuple(optional)
        self.make = make

    def rows(self, reply: Reply) -> List[T]:
        """The rows of a reply. ProtocolError if it does not have the columns asked for."""
        width = len(self.names)
        tokens = reply.tokens
        if reply.columns != width or (len(tokens) % width if width else tokens):
            raise ProtocolError(f"{len(tokens)} values of {reply.columns} columns, where {width} were asked for")
        row = self.row
        return [row(tokens[at : at + width]) for at in range(0, len(tokens), width or 1)]

    def row(self, tokens: Sequence[bytes]) -> T:
        values: List[Any] = []
        for token, make, optional, name in zip(tokens, self.decoders, self.optional, self.names):
            if token == NULL:
                if not optional:
                    raise DataError(f"column {name} is NULL, and its type has no None")
                values.append(None)
                continue
            if b"\1" in token:
                try:
                    token = unescape(token)
                except ValueError:
                    raise ProtocolError("a reply with a malformed escape") from None
            values.append(decode(token, make, name))
        return self.make(values)


def columns_of(columns: Any) -> Columns[Any]:
    """From a list of names (all text), a mapping from names to types, or a dataclass or NamedTuple."""
    if isinstance(columns, str):
        raise InterfaceError("columns are a list of names, not one text")
    if isinstance(columns, type):
        return columns_of_class(columns)
    kinds: Mapping[str, Any] = columns if isinstance(columns, Mapping) else dict.fromkeys(columns, str)
    names = list(columns)
    if len(kinds) != len(names):
        raise InterfaceError("a column is named twice")
    return Columns(names, [decoder(kinds[name]) for name in names], [True] * len(names), row_class(names))


def columns_of_class(into: Type[T]) -> Columns[T]:
    if dataclasses.is_dataclass(into):
        names = [field.name for field in dataclasses.fields(into) if field.init]
    elif issubclass(into, tuple) and hasattr(into, "_fields"):
        names = list(into._fields)
    else:
        raise InterfaceError(f"rows become a dataclass or a NamedTuple, not {into!r}")
    hints = typing.get_type_hints(into)
    kinds = [optional_of(hints.get(name, str)) for name in names]
    return Columns(
        names,
        [decoder(kind) for kind, _ in kinds],
        [optional for _, optional in kinds],
        lambda values: into(*values),
    )


def optional_of(hint: Any) -> Tuple[Any, bool]:
    """The type without its None, and whether it had one."""
    unions: Tuple[Any, ...] = (Union,)
    if sys.version_info >= (3, 10):
        import types

        unions += (types.UnionType,)
    if typing.get_origin(hint) not in unions:
        return (str, True) if hint is Any else (hint, False)
    kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
    if len(kinds) != 1:
        raise InterfaceError(f"a column has one type, not {hint!r}")
    return kinds[0], len(kinds) != len(typing.get_args(hint))
