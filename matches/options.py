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
    hints, options = get_type_hints(plan, include_extras=True), []
    for field in msgspec.structs.fields(plan):
        metas = _list_metas(hints[field.name])
        if not any(meta.description for meta in metas):
            continue
        default = field.default
        if field.default_factory is not NODEFAULT:
            default = field.default_factory()
        # What is said outside overrides what the type says itself.
        extra = {
            key: value for meta in reversed(metas) for key, value in (meta.extra or {}).items()
        }
        plain = _strip_annotations(hints[field.name])
        option = Option(
            name=field.name,
            kind=_find_kind(plain),
            help=_find_first(metas, "description"),
            title=_find_first(metas, "title") or "",
            default=None if default is NODEFAULT else default,
            is_required=default is NODEFAULT,
            is_nullable=NoneType in get_args(plain),
            minimum=_find_first(metas, "ge"),
            maximum=_find_first(metas, "le"),
            max_length=_find_first(metas, "max_length"),
            **{"flags": (f"--{field.name.replace('_', '-')}",), **extra},
        )
        options.append(option)
    return tuple(sorted(options, key=lambda option: not option.is_required))


def _list_metas(hint: Any) -> list[Meta]:
    """Return the annotations of a type, the outermost first; limits stand within `| None`."""
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        return [*(meta for meta in metadata if isinstance(meta, Meta)), *_list_metas(inner)]
    return [meta for part in get_args(hint) for meta in _list_metas(part)]


def _find_first(metas: list[Meta], name: str) -> Any:
    values = (getattr(meta, name) for meta in metas)
    return next((value for value in values if value is not None), None)


def _strip_annotations(hint: Any) -> Any:
    """Return a type without its annotations, down to the members of a union."""
    if get_origin(hint) is Annotated:
        return _strip_annotations(get_args(hint)[0])
    if NoneType in get_args(hint):
        (inner,) = (_strip_annotations(part) for part in get_args(hint) if part is not NoneType)
        return inner | None
    return hint


def _find_kind(plain: Any) -> Kind:
    inner = [part for part in get_args(plain) if part is not NoneType]
    if NoneType not in get_args(plain):
        return "pairs" if get_origin(plain) is not None else _KINDS[plain]
    return "json" if get_origin(inner[0]) is not None else _KINDS[inner[0]]
