"""How the admin shows fields that nobody enters: labels as people say them, JSON as lines."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from django.db.models import JSONField, Model
from django.utils.text import capfirst


@cache
def label_fields(model: type[Model]) -> dict[str, str]:
    """Return the labels of fields whose names begin with n_ or is_, or end with _at."""
    plain = {field.name: _strip_name(field.name) for field in model._meta.fields}
    return {name: capfirst(label) for name, label in plain.items() if label != name}


def _strip_name(name: str) -> str:
    return name.removeprefix("n_").removeprefix("is_").removesuffix("_at").replace("_", " ")


def replace_json(model: type[Model], names: Iterable[Any]) -> list[Any]:
    """Return the names of shown fields, those of JSON replaced by what writes them as lines."""
    json_fields = {field.name for field in model._meta.fields if isinstance(field, JSONField)}
    return [
        replace_json(model, name)
        if isinstance(name, tuple | list)
        else (_write_field(name) if name in json_fields else name)
        for name in names
    ]


@cache
def _write_field(name: str) -> Callable[[Model], str]:
    def write(obj: Model) -> str:
        return write_lines(getattr(obj, name))

    write.__name__ = name
    write.short_description = name.replace("_", " ")  # type: ignore[attr-defined]  # read by Django
    return write


def write_lines(value: Any) -> str:
    """Return what JSON holds: a line per key, the members of a list with commas, or `none`."""
    match value:
        case Mapping():
            return "\n".join(f"{key}: {write_lines(one)}" for key, one in value.items()) or "none"
        case list():
            return ", ".join(write_lines(one) for one in value) or "none"
        case None | "":
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
    return str(value)
