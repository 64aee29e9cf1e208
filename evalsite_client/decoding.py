"""JSON into the frozen dataclasses of this package.

A member that is not known is left out: a newer server may send more. One that is missing or of
another type is an error: the server is none of this version.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from evalsite_client.errors import AnswerError

T = TypeVar("T")


def decode(kind: type[T], value: Any) -> T:
    """Return a dataclass from an object of JSON. Raises AnswerError naming the member."""
    found: T = _read(kind, value, kind.__name__)
    return found


def _read(kind: Any, value: Any, where: str) -> Any:
    """Return a value of a type; Literal is not checked: a newer server may know more choices."""
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _read_object(kind, value, where)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        options = get_args(kind)
        if value is None and types.NoneType in options:
            return None
        # Several that remain are choices of texts, so the first reads as well as any.
        inner = next(option for option in options if option is not types.NoneType)
        return _read(inner, value, where)
    reader = _READERS.get(origin or kind)
    if reader is None:
        raise TypeError(f"{where}: no reader for {kind}")
    return reader(kind, value, where)


def _read_object(kind: Any, value: Any, where: str) -> Any:
    _require(isinstance(value, dict), "an object", value, where)
    hints = members(kind)
    missing = sorted(hints.keys() - value.keys())
    if missing:
        raise AnswerError(f"{where} lacks {', '.join(missing)}: {_OTHER_VERSION}")
    return kind(**{name: _read(hints[name], value[name], f"{where}.{name}") for name in hints})


@cache
def members(kind: Any) -> Mapping[str, Any]:
    """Return the types of the members of a dataclass by name."""
    return get_type_hints(kind)


def _read_text(_: Any, value: Any, where: str) -> str:
    _require(isinstance(value, str), "a text", value, where)
    return str(value)


def _read_truth(_: Any, value: Any, where: str) -> bool:
    _require(isinstance(value, bool), "true or false", value, where)
    return bool(value)


def _read_whole(_: Any, value: Any, where: str) -> int:
    _require(isinstance(value, int) and not isinstance(value, bool), "a whole number", value, where)
    return int(value)


def _read_real(_: Any, value: Any, where: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    _require(is_number, "a number", value, where)
    return float(value)


def _read_time(_: Any, value: Any, where: str) -> datetime:
    _require(isinstance(value, str), "a time", value, where)
    try:
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise AnswerError(f"{where} is no time: {value!r:.80}") from error


def _read_list(kind: Any, value: Any, where: str) -> tuple[Any, ...]:
    _require(isinstance(value, list), "a list", value, where)
    inner = get_args(kind)[0]
    return tuple(_read(inner, item, f"{where}[{place}]") for place, item in enumerate(value))


def _read_mapping(kind: Any, value: Any, where: str) -> dict[str, Any]:
    _require(isinstance(value, dict), "an object", value, where)
    inner = get_args(kind)[1]
    return {name: _read(inner, item, f"{where}.{name}") for name, item in value.items()}


_READERS: dict[Any, Callable[[Any, Any, str], Any]] = {
    str: _read_text,
    Literal: _read_text,
    bool: _read_truth,
    int: _read_whole,
    float: _read_real,
    datetime: _read_time,
    tuple: _read_list,
    Mapping: _read_mapping,
}
_OTHER_VERSION = "server and client are of different versions"


def _require(is_so: bool, wanted: str, value: Any, where: str) -> None:
    if not is_so:
        raise AnswerError(f"{where} is not {wanted} but {value!r:.80}: {_OTHER_VERSION}")
