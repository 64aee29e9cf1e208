"""Options of plans as fields of what the API takes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from rest_framework import serializers

from matches.api.fields import AnyJson, Parameters
from matches.options import Kind, Option

Field = serializers.Field[Any, Any, Any, Any]
FIELDS: Mapping[Kind, Callable[..., Field]] = {
    "text": serializers.CharField,
    "whole": serializers.IntegerField,
    "real": serializers.FloatField,
    "truth": serializers.BooleanField,
    "pairs": Parameters,
    "json": AnyJson,
}


class PlanSerializer(serializers.Serializer[Any]):
    """A body that says what a plan is to be; the service refuses what is out of its limits."""

    options: ClassVar[Sequence[Option]] = ()

    def get_fields(self) -> dict[str, Field]:
        """Return its own fields, then the options."""
        return {**super().get_fields(), **serializer_fields(self.options)}


def serializer_fields(options: Iterable[Option]) -> dict[str, Field]:
    """Return a field for each option."""
    return {option.name: _field(option) for option in options}


def _field(option: Option) -> Field:
    known: dict[str, Any] = {"help_text": option.help}
    if not option.is_required:
        known["default"] = dict if option.kind == "pairs" else option.default
    if option.is_nullable:
        known["allow_null"] = True
    if option.kind == "text":
        known |= {"max_length": option.max_length, "allow_blank": option.default == ""}
    return FIELDS[option.kind](**known)
