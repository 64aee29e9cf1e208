"""One place that turns errors into answers; views catch nothing."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import status
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler as default_handler

from matches.errors import BadInputError, BrokerError, MatchError, NoNodeError

Problem = dict[str, str]


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """Return 400 naming field, value and choices, 503 for what passes, else what DRF answers."""
    if isinstance(error, BadInputError):
        return _bad_input([{"field": error.field, "message": str(error)}])
    if isinstance(error, ValidationError):
        given = context["request"].data
        return _bad_input(list(_problems(error.detail, given if _is_object(given) else {})))
    if isinstance(error, DjangoValidationError):
        return _bad_input(list(_problems(_by_field(error), {})))
    if isinstance(error, NoNodeError | BrokerError):
        return Response({"detail": str(error)}, status=status.HTTP_503_SERVICE_UNAVAILABLE)
    if isinstance(error, MatchError):
        return _bad_input([{"field": "", "message": str(error)}])
    return default_handler(error, context)


def _bad_input(problems: list[Problem]) -> Response:
    return Response({"errors": problems}, status=status.HTTP_400_BAD_REQUEST)


def _by_field(error: DjangoValidationError) -> Mapping[str, Any]:
    return error.message_dict if hasattr(error, "error_dict") else {"": error.messages}


def _problems(detail: Any, given: Mapping[str, Any], field: str = "") -> Iterator[Problem]:
    """Yield one problem per message of DRF's nested detail, with the value that was refused."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            known = "" if name == "non_field_errors" else str(name)
            yield from _problems(inner, given, f"{field}.{known}".strip("."))
    elif isinstance(detail, list):
        for inner in detail:
            yield from _problems(inner, given, field)
    else:
        value = f" Got {given[field]!r:.80}." if field in given else ""
        yield {"field": field, "message": f"{detail}{value}"}


def _is_object(given: object) -> bool:
    return isinstance(given, Mapping)
