"""What is answered when a request fails by no fault of whoever asked."""

import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error
from rest_framework.permissions import SAFE_METHODS

from matches.api.errors import PROBLEM, build_problem
from matches.store import away

_API = "/api/"


def answer_fault(request: HttpRequest) -> HttpResponse:
    """Return 503 while the database is away, else 500; Django has logged what was raised.

    Also of middleware, which looks for who is logged in before any view is asked.
    """
    if not away.is_away(sys.exc_info()[1]):
        return server_error(request)
    status = HTTPStatus.SERVICE_UNAVAILABLE
    headers = {"Retry-After": str(away.RETRY_S)}
    if request.path.startswith(_API):
        text = away.tell(is_safe=request.method in SAFE_METHODS)
        body = build_problem(status, text, request.path)
        return JsonResponse(body, status=status, headers=headers, content_type=PROBLEM)
    # Without the request: who is logged in stands in the database, too.
    return HttpResponse(render_to_string("503.html"), status=status, headers=headers)
