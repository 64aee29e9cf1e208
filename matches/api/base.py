"""What all endpoints share: who may call, conditional reads, repeated writes, one media type."""

from collections.abc import Iterable
from http import HTTPStatus
from itertools import chain
from typing import Any, ClassVar, TypeVar

from django.db.models import Model
from django.http import HttpRequest, HttpResponseBase
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from rest_framework import status
from rest_framework.exceptions import APIException, UnsupportedMediaType
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer
from rest_framework.viewsets import GenericViewSet

from matches.api import idempotency
from matches.api.filters import Filters, refuse_repeated, refuse_unknown
from matches.api.permissions import TABLE

Row = TypeVar("Row", bound=Model)
ID = r"\d{1,18}"
"""How an id is written in an address: what is longer is no key of a row."""


class JsonOnly(DefaultContentNegotiation):
    """Answers JSON whatever the client says that it takes: there is nothing else."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        del request, format_suffix
        first = next(iter(renderers))
        return first, str(first.media_type)


class Endpoints(GenericViewSet[Row]):
    """Endpoints of one noun.

    A GET has an ETag and answers If-None-Match; a POST takes an Idempotency-Key.
    """

    # No PUT and no PATCH: what was made is ended or acted on by a service, never edited.
    http_method_names = ["get", "post", "delete", "head"]
    content_negotiation_class = JsonOnly
    is_atomic: ClassVar[bool] = True
    """Whether a POST and its kept answer are one transaction."""
    hidden: ClassVar[tuple[str, ...]] = ()
    """Members of the answer to a POST that are shown only once."""
    query_form: ClassVar[type[Serializer[Any]] | None] = None
    """What a list is asked for besides its filters and the page."""

    # The ETag is of the answer as it is written: it spares the way, not the queries.
    @method_decorator(conditional_page)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer 304 where the client has the answer already."""
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Let a POST that passes all checks be answered once under its key."""
        super().initial(request, *args, **kwargs)
        if self.action == "list":
            self._check_query()
        if request.method == "POST":
            _refuse_unreadable_body(request)
        if request.method == "POST" and self.action is not None and not self._is_proved():
            # Here, after authentication and rights: who may not call must not take up a key.
            run = getattr(self, self.action)
            # On the instance, so for this request alone: Django makes a view for each.
            self.post = idempotency.run_once(run, is_atomic=self.is_atomic, hidden=self.hidden)

    def _is_proved(self) -> bool:
        """Say whether no login is needed: a key of such a call would belong to nobody."""
        return bool(TABLE[self.basename, self.action].is_proved)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Let caches ask every time, and keep the answers to different callers apart."""
        finalized = super().finalize_response(request, response, *args, **kwargs)
        patch_cache_control(finalized, no_cache=True)
        patch_vary_headers(finalized, ("Authorization", "Cookie"))
        return finalized

    def paginate_queryset(self, queryset: Any) -> Any:
        """Return the rows of the page that is asked for."""
        if self.action != "list":  # of that it is known before anything is filtered
            self._check_query()
        return super().paginate_queryset(queryset)

    def _check_query(self) -> None:
        """Raise BadInputError for a parameter that this list does not take."""
        if not self.request.query_params:
            return
        form = self.query_form() if self.query_form else None
        page = self.paginator.get_schema_operation_parameters(self) if self.paginator else ()
        filters = (_list_filters(backend, self) for backend in self.filter_backends)
        names = [
            *(form.fields if form else ()),
            *chain.from_iterable(filters),
            *(parameter["name"] for parameter in page),
        ]
        refuse_unknown(self.request, names)

    def answer_page(self, rows: Any, form: type[BaseSerializer[Any]], **options: Any) -> Response:
        """Return a page of rows in a form."""
        page = self.paginate_queryset(rows)
        assert self.paginator is not None
        return self.paginator.get_paginated_response(form(page, many=True, **options).data)


class LengthRequiredError(APIException):
    """A body whose length is not told is not read."""

    status_code = HTTPStatus.LENGTH_REQUIRED
    default_detail = "the body is sent in chunks: send it whole, with its Content-Length"


def _refuse_unreadable_body(request: Request) -> None:
    """Refuse what would be read as no body at all, and what is packed."""
    if "Transfer-Encoding" in request.headers and not request.headers.get("Content-Length"):
        raise LengthRequiredError
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding != "identity":
        problem = f"Content-Encoding is {encoding!r:.80}: send the body as it is, without one"
        raise UnsupportedMediaType("", detail=problem)


def read_body(form: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """Return the values of the body. Raises ValidationError."""
    return _validate_form(form(data=request.data))


def read_query(form: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """Return the values of the query. Raises ValidationError or BadInputError."""
    refuse_repeated(request)
    return _validate_form(form(data=request.query_params))


def answer_created(serializer: BaseSerializer[Any]) -> Response:
    """Return the answer to what has been made."""
    return Response(serializer.data, status=status.HTTP_201_CREATED)


def _list_filters(backend: Any, view: Endpoints[Any]) -> list[str]:
    rows: Any = type(view).queryset
    filters: type[Filters] | None = backend().get_filterset_class(view, rows)
    return filters.list_names() if filters else []


def _validate_form(filled: Serializer[Any]) -> dict[str, Any]:
    filled.is_valid(raise_exception=True)
    return dict(filled.validated_data)
