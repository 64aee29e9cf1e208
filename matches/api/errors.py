"""One place that turns errors into answers, as problems of RFC 9457; views catch nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, JsonResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import (
    APIException,
    NotAuthenticated,
    UnsupportedMediaType,
    ValidationError,
)
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import exception_handler as default_handler

from arena.errors import CatalogError, UnknownNameError
from matches.errors import (
    BadInputError,
    BadRowsError,
    BrokerError,
    ConflictError,
    ForbiddenError,
    GoneError,
    MatchError,
    NoNodeError,
    RepeatedKeyError,
)
from matches.store.formats import hide_folders

PROBLEM: Final = "application/problem+json"
Refusal = dict[str, str]
_NOTHING: Final = object()
# Also of one that came as Bearer, as tokens of others do.
_NO_TOKEN: Final = (
    "no token of the API was sent: send Authorization: Token SECRET "
    "(name and password get one at /api/v1/tokens/)"
)
_ODD_TYPE: Final = "Unsupported media type"
_NO_ROW: Final = re.compile(r"No (\w+) matches the given query\.")

_STATUS: Final[Mapping[type[Exception], HTTPStatus]] = {
    NoNodeError: HTTPStatus.SERVICE_UNAVAILABLE,
    BrokerError: HTTPStatus.SERVICE_UNAVAILABLE,
    # A plug-in that is not here, or broken: no fault of the caller, and none that lasts.
    UnknownNameError: HTTPStatus.SERVICE_UNAVAILABLE,
    CatalogError: HTTPStatus.SERVICE_UNAVAILABLE,
    ConflictError: HTTPStatus.CONFLICT,
    ForbiddenError: HTTPStatus.FORBIDDEN,
    GoneError: HTTPStatus.GONE,
    RepeatedKeyError: HTTPStatus.UNPROCESSABLE_ENTITY,
    MatchError: HTTPStatus.BAD_REQUEST,
    SuspiciousOperation: HTTPStatus.BAD_REQUEST,
}
"""The first class that fits says the status."""


def exception_handler(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Return the problem that an error stands for; None for a fault of ours, which stays one."""
    request: Request | None = context.get("request")
    refusals = _list_refusals(error, request)
    if refusals is not None and not isinstance(error, ValidationError):
        # Those of serializers quote what was sent, and know of no files here.
        refusals = [
            {**refusal, "message": _hide_paths(refusal["message"], request)} for refusal in refusals
        ]
    if refusals is not None:
        return _answer_problem(HTTPStatus.BAD_REQUEST, "values were refused", request, refusals)
    if isinstance(error, RequestDataTooBig):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        too_large = f"the body has more than {most:,} bytes: send less at once"
        return _answer_problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large, request)
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return _answer_problem(status, _hide_paths(str(error), request), request)
    answer = default_handler(error, dict(context))
    if answer is None:
        return None
    status = HTTPStatus(answer.status_code)
    # What a client needs to log in, or to come again at the right time.
    header_names = ("WWW-Authenticate", "Retry-After")
    headers = {name: answer.headers[name] for name in header_names if name in answer.headers}
    detail = _name_missing(str(answer.data["detail"]), context.get("kwargs") or {})
    if isinstance(error, NotAuthenticated):
        detail = _NO_TOKEN
    if isinstance(error, UnsupportedMediaType) and detail.startswith(_ODD_TYPE):
        content_type = request.content_type if request else ""
        types = " or ".join(str(parser.media_type) for parser in context["view"].parser_classes)
        detail = f"Content-Type is {content_type!r:.80}: send {types}"
    return _answer_problem(status, detail, request, headers=headers)


def _hide_paths(text: str, request: Request | HttpRequest | None) -> str:
    """Return what is wrong as the caller may read it: only staff is told where files lie here."""
    if request is None:
        return text
    if not isinstance(request, Request):
        # Uploads of experience are answered asynchronously: no session can be looked up there, and
        # what REST framework reads of a body is missing; chunks name no file.
        return hide_folders(text)
    is_staff = getattr(request.user, "is_staff", False)
    return text if is_staff else hide_folders(text, sent=str(_read_sent(request)))


def _name_missing(detail: str, sought: Mapping[str, Any]) -> str:
    """Return which row there is not, by what the address sought; Django names its model alone."""
    missing = _NO_ROW.fullmatch(detail)
    if missing is None or len(sought) != 1:
        return detail
    model = next(model for model in apps.get_models() if model.__name__ == missing[1])
    return f"there is no {model._meta.verbose_name} {next(iter(sought.values()))!s:.80}"


def build_problem(
    status: HTTPStatus, detail: str, instance: str, refusals: Sequence[Refusal] = ()
) -> dict[str, Any]:
    """Return the members of a problem. `type` says more than the status only for refused values."""
    return {
        "type": "urn:evalsite:problem:refused-values" if refusals else "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "instance": instance,
        "errors": list(refusals),
    }


@csrf_exempt
def answer_no_such_address(request: HttpRequest, **_: str) -> JsonResponse:
    """Answer what no endpoint answers."""
    hint = "" if request.path.endswith("/") else ": addresses of the API end with a slash"
    status = HTTPStatus.NOT_FOUND
    # Named: who gives a client the address of the API for that of the server sees it twice here.
    detail = f"nothing is at {request.path:.200}{hint}"
    body = build_problem(status, detail, request.path)
    return JsonResponse(body, status=status, content_type=PROBLEM)


def _answer_problem(
    status: HTTPStatus,
    detail: str,
    request: Request | None,
    refusals: Sequence[Refusal] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    body = build_problem(status, detail, request.path if request else "", refusals)
    return Response(body, status=status, headers=dict(headers or {}), content_type=PROBLEM)


def _list_refusals(error: Exception, request: Request | None) -> list[Refusal] | None:
    """Return field and message of every value that was refused; None for another error."""
    if isinstance(error, BadRowsError):
        return [{"field": error.field, "message": problem} for problem in error.problems]
    if isinstance(error, BadInputError):
        return [{"field": error.field, "message": error.reason}]
    if isinstance(error, ValidationError):
        body = _read_sent(request) if isinstance(error.detail, Mapping) else _NOTHING
        return list(_flatten_detail(error.detail, body))
    if isinstance(error, DjangoValidationError):
        is_by_field = hasattr(error, "error_dict")
        return list(
            _flatten_detail(error.message_dict if is_by_field else error.messages, _NOTHING)
        )
    return None


def _read_sent(request: Request | None) -> Mapping[str, Any]:
    """Return what was sent, by field."""
    if request is None:
        return {}
    # The body of a GET is not read: it may even be of no readable type.
    if request.method in SAFE_METHODS:
        return request.query_params
    try:
        body = request.data
    # Nor that of an act that takes none: it was refused for something else.
    except (APIException, SuspiciousOperation, UnreadablePostError):
        return {}
    return body if isinstance(body, Mapping) else {}


def _name_value(value: Any) -> Any:
    """Return a value as whoever sent it knows it: a file by its name."""
    return value.name if isinstance(value, UploadedFile) else value


def _flatten_detail(detail: Any, sent: Any, field: str = "") -> Iterator[Refusal]:
    """Yield one refusal per message of DRF's nested detail, with the value that was refused.

    sent: what the detail is about; _NOTHING where that is all fields together, or not there.
    """
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            part = "" if name in ("non_field_errors", "__all__") else str(name)
            value = _find_value(sent, name) if part else _NOTHING
            yield from _flatten_detail(inner, value, f"{field}.{part}".strip("."))
    elif isinstance(detail, list):
        for place, inner in enumerate(detail):
            # Of many rows, each with what is wrong with it.
            value = _find_value(sent, place) if isinstance(inner, Mapping) else sent
            yield from _flatten_detail(inner, value, field)
    elif sent is _NOTHING:
        yield {"field": field, "message": str(detail)}
    else:
        sentence = str(detail)
        end = "" if sentence.endswith((".", "?")) else "."
        yield {"field": field, "message": f"{sentence}{end} Got {_name_value(sent)!r:.80}."}


def _find_value(sent: Any, name: str | int) -> Any:
    try:
        return sent[name]
    except (LookupError, TypeError):
        return _NOTHING
