"""What several endpoints take and show: JSON that can be stored, parameters, agents."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from matches.errors import BadInputError
from matches.ledger.naming import describe_no_board
from matches.models import Agent

NUL = "\x00"
# A larger number would be no refusal but an error of the database.
MAX_ID = 2**63 - 1
SHOWN_MISSING = 20
MAX_NAME = 120


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


def check_unicode(value: Any) -> None:
    """Raise UnicodeEncodeError for half a surrogate: JSON is read with it, and stored by nobody."""
    json.dumps(value, ensure_ascii=False).encode()


def describe_choices(choices: Iterable[object]) -> str:
    """Return the refusal of what is none of these texts."""
    return f"choose one of {', '.join(str(choice) for choice in choices if choice != '')}."


class ByName(serializers.SlugRelatedField[Any]):
    """A row by its name."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the row. Raises ValidationError, also for what PostgreSQL cannot look for."""
        validate_text(data)
        return super().to_internal_value(data)


class BoardField(ByName):
    """A leaderboard by its name; a refusal says which one may be meant and how to open one."""

    def fail(self, key: str, **context: Any) -> NoReturn:
        """Raise ValidationError with these words, or those of REST framework."""
        if key == "does_not_exist":
            raise serializers.ValidationError(
                describe_no_board(context["value"][:MAX_NAME]), code=key
            )
        super().fail(key, **context)


class OneOf(serializers.ChoiceField):
    """One of a few texts; a refusal names them."""

    def fail(self, key: str, **context: Any) -> NoReturn:
        """Raise ValidationError with these words, or those of REST framework."""
        if key == "invalid_choice":
            raise serializers.ValidationError(describe_choices(self.choices), code=key)
        super().fail(key, **context)


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

    def to_internal_value(self, data: Any) -> Any:
        """Return the value, also of the text that a form has. Raises ValidationError."""
        try:
            value = super().to_internal_value(data)
            check_unicode(value)
        except RecursionError as error:
            raise serializers.ValidationError("nested too deeply") from error
        except UnicodeEncodeError as error:
            raise serializers.ValidationError(f"no valid Unicode: {error.reason}") from error
        return value


class AgentNameSerializer(serializers.ModelSerializer[Agent]):
    """An agent by id and name."""

    class Meta:
        model = Agent
        fields: tuple[str, ...] = ("id", "name")


def find_agents(ids: Sequence[int]) -> list[Agent]:
    """Return the agents in the order given. Raises BadInputError naming those that do not exist."""
    agents = Agent.objects.in_bulk([number for number in ids if number <= MAX_ID])
    missing = [number for number in ids if number not in agents]
    if missing:
        missing_ids = ", ".join(map(str, missing[:SHOWN_MISSING]))
        more = f" and {n} more" if (n := len(missing) - SHOWN_MISSING) > 0 else ""
        raise BadInputError("agents", f"there is no agent with id {missing_ids}{more}")
    return [agents[number] for number in ids]


class JsonParser(JSONParser):
    """JSON as DRF reads it, without half surrogates and without endless nesting."""

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the value. Raises ParseError."""
        try:
            value = super().parse(stream, media_type, parser_context)
            check_unicode(value)
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deeply") from error
        except UnicodeEncodeError as error:
            raise ParseError(f"JSON parse error - no valid Unicode: {error.reason}") from error
        return value
