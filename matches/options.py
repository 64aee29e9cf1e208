"""What a plan says of its options, for all who offer them: API, admin forms, command line, client.

A plan is a msgspec Struct. A field with a description is an option; any other is set by ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, Struct

Kind = Literal["text", "whole", "real", "truth", "pairs", "json"]
Plan = type[Struct]
_KINDS: Mapping[Any, Kind] = {str: "text", int: "whole", float: "real", bool: "truth"}


@dataclass(frozen=True)
class Option:
    """One option of a plan: its type, its limits and how people read it."""

    name: str
    kind: Kind
    help: str
    title: str = ""
    """On forms; empty: made of the name."""
    default: Any = None
    is_required: bool = False
    is_nullable: bool = False
    minimum: float | None = None
    maximum: float | None = None
    max_length: int | None = None
    choices: Callable[[], list[tuple[str, str]]] | None = None
    """From a catalog, to which plug-ins add: only forms list them."""
    empty: str = ""
    """On forms: what none of the choices stands for."""
    fixed: tuple[str, ...] = ()
    """The texts that it may be, where no plug-in adds to them."""
    flags: tuple[str, ...] = ()
    """On the command line; empty: it has no flag."""
    scale: float = 1
    """What one unit on the command line is worth here."""
    group: str = ""
    """Of the options of a group at most one is given on the command line."""
    is_asked: bool = False
    """It is part of the question: a forecast needs it."""
    is_scheduled: bool = True
    """Schedules have it too."""


def options_of(plan: Plan) -> tuple[Option, ...]:
    """Return the options of a plan, those that must be given first."""
    defaults = {field.name: _default(field) for field in msgspec.structs.fields(plan)}
    hints = get_type_hints(plan, include_extras=True)
    found = [
        _option(name, hint, defaults[name]) for name, hint in hints.items() if _described(hint)
    ]
    return tuple(sorted(found, key=lambda option: not option.is_required))


def _described(hint: Any) -> bool:
    return any(meta.description for meta in _metas(hint))


def _metas(hint: Any) -> list[Meta]:
    """Return what is said of a type, the outermost first; limits stand within `| None`."""
    if get_origin(hint) is Annotated:
        inner, *said = get_args(hint)
        return [*(meta for meta in said if isinstance(meta, Meta)), *_metas(inner)]
    return [meta for part in get_args(hint) for meta in _metas(part)]


def _option(name: str, hint: Any, default: Any) -> Option:
    metas = _metas(hint)
    extra = {name: value for meta in reversed(metas) for name, value in (meta.extra or {}).items()}
    plain = _plain(hint)
    return Option(
        name=name,
        kind=_kind(plain),
        help=_first(metas, "description"),
        title=_first(metas, "title") or "",
        default=None if default is NODEFAULT else default,
        is_required=default is NODEFAULT,
        is_nullable=NoneType in get_args(plain),
        minimum=_first(metas, "ge"),
        maximum=_first(metas, "le"),
        max_length=_first(metas, "max_length"),
        **{"flags": (f"--{name.replace('_', '-')}",), **extra},
    )


def _default(field: Any) -> Any:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


def _first(metas: list[Meta], name: str) -> Any:
    said = (getattr(meta, name) for meta in metas)
    return next((value for value in said if value is not None), None)


def _plain(hint: Any) -> Any:
    """Return a type without what is said of it, down to the members of a union."""
    if get_origin(hint) is Annotated:
        return _plain(get_args(hint)[0])
    if NoneType in get_args(hint):
        (inner,) = (_plain(part) for part in get_args(hint) if part is not NoneType)
        return inner | None
    return hint


def _kind(plain: Any) -> Kind:
    inner = [part for part in get_args(plain) if part is not NoneType]
    if NoneType not in get_args(plain):
        return "pairs" if get_origin(plain) is not None else _KINDS[plain]
    return "json" if get_origin(inner[0]) is not None else _KINDS[inner[0]]
