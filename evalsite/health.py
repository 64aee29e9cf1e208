"""Answers whether this web process can reach its database."""

from django.db import connection
from django.http import HttpRequest, JsonResponse


def healthz(_: HttpRequest) -> JsonResponse:
    """Return 200 when the database answers; a database error is a 500."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok"})
