"""Pages of what needs a game or policy kind that is not here: a text with what to do, no fault."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from arena.errors import CatalogError, UnknownNameError


class UnknownKinds(MiddlewareMixin):
    """Answers for the views that meet a kind whose file is gone or broken."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the page that names what is missing; None for any other error."""
        if not isinstance(error, CatalogError | UnknownNameError):
            return None
        context, status = {"problem": str(error)}, HTTPStatus.SERVICE_UNAVAILABLE
        return render(request, "pages/unknown.html", context, status=status)
