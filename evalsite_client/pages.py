"""Lists that come in pages: the next one is fetched when somebody asks for its rows."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from evalsite_client.decoding import decode
from evalsite_client.errors import AnswerError
from evalsite_client.transport import Transport

T = TypeVar("T")


def rows(transport: Transport, path: str, kind: type[T], query: Mapping[str, Any]) -> Iterator[T]:
    """Yield every row of a list in the order of the server."""
    asked = dict(query)
    while True:
        page = transport.get(path, asked)
        if not isinstance(page, dict) or not isinstance(page.get("results"), list):
            raise AnswerError(f"{path} answers no page of rows: is this the address of evalsite?")
        for row in page["results"]:
            yield decode(kind, row)
        cursor = _cursor(page.get("next"))
        if cursor is None:
            return
        asked["cursor"] = cursor


def _cursor(address: str | None) -> str | None:
    """Return where the next page begins. The rest of the address may be a proxy's: it is ours."""
    return parse_qs(urlsplit(address).query)["cursor"][0] if address else None
