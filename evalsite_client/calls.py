"""What every noun of the API is called with: one row, a list in pages, a change."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from evalsite_client.decoding import decode
from evalsite_client.errors import AnswerError
from evalsite_client.records import Rows
from evalsite_client.transport import Transport

T = TypeVar("T")


class Calls:
    """The calls of one noun."""

    def __init__(self, transport: Transport) -> None:
        """transport: sends the calls."""
        self._transport = transport

    def _get(self, kind: type[T], path: str, query: Mapping[str, Any] | None = None) -> T:
        return decode(kind, self._transport.get(path, query))

    def _post(
        self,
        kind: type[T],
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        key: str | None,
        nullable: Collection[str] = (),
    ) -> T:
        """Return the answer; None is left out of the body but of what `nullable` names."""
        # Left out rather than sent, so that the server's own defaults hold.
        sent_body = {
            name: value
            for name, value in (body or {}).items()
            if value is not None or name in nullable
        }
        return decode(kind, self._transport.post(path, sent_body, key=key))

    def _rows(self, kind: type[T], path: str, query: Mapping[str, Any] | None = None) -> Rows[T]:
        """Return every row of a list in the order of the server."""
        return Rows(self._fetch_rows(kind, path, query or {}))

    def _fetch_rows(self, kind: type[T], path: str, query: Mapping[str, Any]) -> Iterator[T]:
        page_query = dict(query)
        while True:
            page = self._transport.get(path, page_query)
            if not isinstance(page, dict) or not isinstance(page.get("results"), list):
                raise AnswerError(
                    f"{path} answers no page of rows: is this the address of evalsite?"
                )
            for row in page["results"]:
                yield decode(kind, row)
            if not page.get("next"):
                return
            # Only the cursor is taken: the rest of that address may be a proxy's.
            page_query["cursor"] = parse_qs(urlsplit(page["next"]).query)["cursor"][0]
