"""Forms that are sent twice, by a double click or a reload, do what they do once."""

import secrets
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from matches.access import idempotency
from matches.access.idempotency import Answer, Call
from matches.store.clock import db_now

FIELD: Final = "once"
DONE_HEADER: Final = "X-Done"
"""On an answer that is a page and not a form shown again."""
_LONGEST = 64
DONE_BEFORE: Final = HttpResponse()
"""What stands for the answer to a form that was sent before."""


def new_once() -> str:
    """Return what tells one form that was shown from every other."""
    return secrets.token_hex(16)


def only_once(request: HttpRequest, view: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the answer of the view, or DONE_BEFORE when this form has done its work already.

    A form that is shown again has done nothing: it may come again. Raises RepeatedKeyError for
    another form under its name, ConflictError while the first one is under way.
    """
    user: Any = request.user
    # PostgreSQL takes no NUL.
    once = request.POST.get(FIELD, "")[:_LONGEST].replace("\0", "")
    if not once or not user.is_authenticated:
        return view()
    call = Call(user.pk, f"admin:{once}", sha256(request.path.encode()).hexdigest())
    if idempotency.claim_key(call, now=db_now()) is not None:
        return DONE_BEFORE
    try:
        response = view()
        # A form that is shown again comes with 200 and has done nothing; a deed ends in a redirect,
        # or in a page that says so by its header.
        if response.status_code != HTTPStatus.OK or response.headers.get(DONE_HEADER):
            idempotency.store_answer(call, Answer(HTTPStatus.OK, "{}"))
    finally:
        idempotency.release_key(call)
    return response
