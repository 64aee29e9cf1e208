"""Idempotency-Key: a POST that is sent again is answered alike and done once."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from hashlib import sha256
from typing import Any, Final

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import QueryDict
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from matches.access import idempotency
from matches.access.idempotency import Answer, Call
from matches.errors import BadInputError
from matches.store.clock import db_now

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")

Handler = Callable[..., Response]


def run_once(handler: Handler, *, is_atomic: bool, hidden: Iterable[str] = ()) -> Handler:
    """Return the handler of a POST that looks for the header first.

    is_atomic: what is done and the kept answer are one transaction; False for an upload, which
    would hold the database's lock while a file is copied, and changes nothing when repeated.
    hidden: members of the answer that are shown only once.
    """

    def run_handler(request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get(HEADER)
        if key is None:
            return handler(request, *args, **kwargs)
        call = _identify_call(request, key)
        earlier = idempotency.claim_key(call, now=db_now())
        if earlier is not None:
            return Response(json.loads(earlier.body), earlier.status, headers={REPLAYED: "true"})
        try:
            with transaction.atomic() if is_atomic else nullcontext():
                response = handler(request, *args, **kwargs)
                body = {**response.data, **dict.fromkeys(hidden)} if hidden else response.data
                answer = Answer(response.status_code, JSONRenderer().render(body).decode())
                # In the transaction of what was done: both are there, or neither.
                idempotency.store_answer(call, answer)
        except BaseException:  # whatever it was: the key must not stay taken until it is forgotten
            idempotency.release_key(call)
            raise
        return response

    return run_handler


def _identify_call(request: Request, key: str) -> Call:
    """Return the call that a request makes under its key. Raises BadInputError."""
    if not _KEY.fullmatch(key):
        reason = f"1 to 255 visible ASCII characters are taken, got {key!r:.80}"
        raise BadInputError(HEADER, reason)
    text = json.dumps([request.method, request.get_full_path(), _normalise_body(request.data)])
    user: Any = request.user
    return Call(user.pk, key, sha256(text.encode()).hexdigest())


def _normalise_body(value: Any) -> Any:
    """Return a body as JSON that is the same for the same content; a file by its hash."""
    if isinstance(value, QueryDict):
        return {
            name: [_normalise_body(item) for item in items] for name, items in sorted(value.lists())
        }
    if isinstance(value, Mapping):
        return {str(name): _normalise_body(value[name]) for name in sorted(value)}
    if isinstance(value, UploadedFile):
        return [value.name, _hash_file(value)]
    return value


def _hash_file(file: "UploadedFile[bytes]") -> str:
    digest = sha256()
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)  # the handler reads it once more
    return digest.hexdigest()
