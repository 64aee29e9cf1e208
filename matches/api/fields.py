"""Fields that several endpoints take."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

NUL = "\x00"


def validate_text(value: Any) -> None:
    """Refuse NUL characters within a JSON value: PostgreSQL stores none."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            validate_text(name)
            validate_text(inner)
    elif isinstance(value, list):
        for inner in value:
            validate_text(inner)
    elif isinstance(value, str) and NUL in value:
        raise serializers.ValidationError("NUL characters are not allowed.")


class Parameters(serializers.DictField):
    """An object of names and values."""

    def __init__(self, **options: Any) -> None:
        """Take what can be stored."""
        super().__init__(validators=[validate_text], **options)


class AnyJson(serializers.JSONField):
    """Any JSON value that can be stored."""

    def __init__(self, **options: Any) -> None:
        """Take what can be stored."""
        super().__init__(validators=[validate_text], **options)
