"""Options of plans as fields of what the API takes."""

from collections.abc import Callable, Mapping, Sequence
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
        return {**super().get_fields(), **{o.name: make_field(o) for o in self.options}}


def make_field(option: Option) -> Field:
    """Return the field of an option; its limits are the service's to keep."""
    arguments: dict[str, Any] = {"help_text": option.help}
    if not option.is_required:
        # Made anew for each body: a default that is an object would be shared by all.
        arguments["default"] = dict if option.kind == "pairs" else option.default
    if option.is_nullable:
        arguments["allow_null"] = True
    if option.kind == "text":
        arguments |= {"max_length": option.max_length, "allow_blank": option.default == ""}
    return FIELDS[option.kind](**arguments)
