"""Idempotency-Key: a POST that is sent again is answered alike and done once."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
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


def once(handler: Handler, *, is_atomic: bool, hidden: Iterable[str] = ()) -> Handler:
    """Return the handler of a POST that looks for the header first.

    is_atomic: what is done and the kept answer are one transaction; False for an upload, which
    would hold the database's lock while a file is copied, and changes nothing when repeated.
    hidden: members of the answer that are shown only once.
    """

    def run(request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get(HEADER)
        if key is None:
            return handler(request, *args, **kwargs)
        call = _call(request, key)
        earlier = idempotency.claim_key(call, now=db_now())
        if earlier is not None:
            return Response(json.loads(earlier.body), earlier.status, headers={REPLAYED: "true"})
        try:
            with _transaction(is_atomic=is_atomic):
                response = handler(request, *args, **kwargs)
                idempotency.store_answer(call, _answer(response, hidden))
        except BaseException:
            idempotency.release_key(call)
            raise
        return response

    return run


def _transaction(*, is_atomic: bool) -> AbstractContextManager[Any]:
    return transaction.atomic() if is_atomic else nullcontext()


def _call(request: Request, key: str) -> Call:
    """Return the call that a request makes under its key. Raises BadInputError."""
    if not _KEY.fullmatch(key):
        wanted = "1 to 255 visible ASCII characters are taken"
        raise BadInputError(HEADER, f"{wanted}, got {key!r:.80}")
    text = json.dumps([request.method, request.get_full_path(), _described(request.data)])
    user: Any = request.user
    return Call(user.pk, key, sha256(text.encode()).hexdigest())


def _described(value: Any) -> Any:
    """Return a body as JSON that is the same for the same content; a file by its hash."""
    if isinstance(value, QueryDict):
        return {name: [_described(item) for item in items] for name, items in sorted(value.lists())}
    if isinstance(value, Mapping):
        return {str(name): _described(value[name]) for name in sorted(value)}
    if isinstance(value, UploadedFile):
        return [value.name, _hash_of(value)]
    return value


def _hash_of(file: "UploadedFile[bytes]") -> str:
    found = sha256()
    for chunk in file.chunks():
        found.update(chunk)
    file.seek(0)
    return found.hexdigest()


def _answer(response: Response, hidden: Iterable[str]) -> Answer:
    shown = {**response.data, **dict.fromkeys(hidden)} if hidden else response.data
    return Answer(response.status_code, JSONRenderer().render(shown).decode())
