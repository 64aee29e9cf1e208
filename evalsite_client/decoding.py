"""JSON into the frozen dataclasses of this package.

A member that is not known is left out: a newer server may send more. One that is missing or of
another type is an error: the server is none of this version.
"""

import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from evalsite_client.errors import AnswerError

T = TypeVar("T")
_OTHER_VERSION: Final = "server and client are of different versions"
# What JSON may have for a type, and what it is called in an error.
_SCALARS: Final[Mapping[type, tuple[tuple[type, ...], str]]] = {
    str: ((str,), "a text"),
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


def decode(kind: type[T], value: Any) -> T:
    """Return a dataclass from an object of JSON. Raises AnswerError naming the member."""
    decoded: T = _read_value(kind, value, kind.__name__)
    return decoded


def _read_value(kind: Any, value: Any, where: str) -> Any:
    # First what most members are: to take other types apart is slow.
    if kind in _SCALARS:
        return _read_scalar(kind, value, where)
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, types.UnionType):
        if value is None and types.NoneType in inner:
            return None
        # Several that remain are choices of texts, so the first reads as well as any.
        first = next(option for option in inner if option is not types.NoneType)
        return _read_value(first, value, where)
    if origin in (tuple, Mapping):
        return _read_many(origin, inner, value, where)
    return (_read_object if is_dataclass(kind) else _read_scalar)(origin, value, where)


def _read_many(origin: Any, inner: tuple[Any, ...], value: Any, where: str) -> Any:
    if origin is tuple:
        _require_type(isinstance(value, list), "a list", value, where)
        return tuple(_read_value(inner[0], item, f"{where}[{n}]") for n, item in enumerate(value))
    _require_type(isinstance(value, dict), "an object", value, where)
    return {
        name: _read_value(inner[1], member, f"{where}.{name}") for name, member in value.items()
    }


def _read_object(kind: Any, value: Any, where: str) -> Any:
    _require_type(isinstance(value, dict), "an object", value, where)
    hints = find_members(kind)
    if missing := sorted(hints.keys() - value.keys()):
        raise AnswerError(f"{where} lacks {', '.join(missing)}: {_OTHER_VERSION}")
    members = {name: _read_value(of, value[name], f"{where}.{name}") for name, of in hints.items()}
    return kind(**members)


# Cached: to resolve the annotations takes longer than to read a row.
@cache
def find_members(kind: Any) -> Mapping[str, Any]:
    """Return the types of the members of a dataclass by name."""
    return get_type_hints(kind)


def _read_scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    if kind is datetime:
        _require_type(isinstance(value, str), "a time", value, where)
        try:
            return datetime.fromisoformat(value)
        except ValueError as error:
            raise AnswerError(f"{where} is no time: {value!r:.80}") from error
    # The choices of a Literal are not checked: a newer server may know more of them.
    plain = str if kind is Literal else kind
    types_taken, called = _SCALARS[plain]
    # To Python a bool is an int; to JSON it is none.
    is_so = isinstance(value, types_taken) and (plain is bool or not isinstance(value, bool))
    _require_type(is_so, called, value, where)
    return plain(value)


def _require_type(is_so: bool, expected: str, value: Any, where: str) -> None:
    if not is_so:
        raise AnswerError(f"{where} is not {expected} but {value!r:.80}: {_OTHER_VERSION}")
