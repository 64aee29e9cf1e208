"""How the admin shows what nobody enters: labels as people say them, JSON as lines, numbers."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from django.db.models import Field, FloatField, JSONField, Model
from django.utils.text import capfirst

from matches.store.formats import format_number, format_percent

NONE = "-"
"""Of a number that is not there, as the admin shows whatever is empty."""
_MILLION = 1_000_000


@cache
def label_fields(model: type[Model]) -> dict[str, str]:
    """Return the labels of fields whose names begin with n_ or is_, or end with _at."""
    plain = {field.name: _strip_name(field.name) for field in model._meta.fields}
    return {name: capfirst(label) for name, label in plain.items() if label != name}


def _strip_name(name: str) -> str:
    return name.removeprefix("n_").removeprefix("is_").removesuffix("_at").replace("_", " ")


def replace_fields(model: type[Model], names: Iterable[Any]) -> list[Any]:
    """Return the names of shown fields, those of JSON and numbers replaced by what writes them."""
    fields = {field.name: field for field in model._meta.fields}
    return [
        replace_fields(model, name)
        if isinstance(name, tuple | list)
        else (
            _write_field(name, _choose_writer(field))
            if isinstance(field := fields.get(name), JSONField | FloatField)
            else name
        )
        for name in names
    ]


def _choose_writer(field: "Field[Any, Any]") -> Callable[[Any], str]:
    """Return what writes the values of a field of JSON or of numbers."""
    if isinstance(field, JSONField):
        return write_lines
    if field.name == "probability":
        return _write_probability
    return _write_count if field.name.startswith("n_") else _write_number


@cache
def _write_field(name: str, writer: Callable[[Any], str]) -> Callable[[Model], str]:
    def write(obj: Model) -> str:
        return writer(getattr(obj, name))

    write.__name__ = name
    write.short_description = _strip_name(name)  # type: ignore[attr-defined]  # read by Django
    return write


def _write_probability(value: float | None) -> str:
    return NONE if value is None else format_percent(value)


def _write_count(value: float | None) -> str:
    return NONE if value is None else format_number(value)


def _write_number(value: float | None) -> str:
    if value is None:
        return NONE
    # From a million on six digits are written with an exponent.
    return format_number(value) if abs(value) >= _MILLION else f"{value:,.6g}"


def write_lines(value: Any) -> str:
    """Return what JSON holds: a line per key, the members of a list with commas, or `none`."""
    match value:
        case Mapping():
            return (
                "\n".join(f"{key}: {write_lines(entry)}" for key, entry in value.items()) or "none"
            )
        case list():
            return ", ".join(write_lines(entry) for entry in value) or "none"
        case None | "":
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
    return str(value)
