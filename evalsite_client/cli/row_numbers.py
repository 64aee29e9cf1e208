"""The numbers of rows that a command line names."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from evalsite_client.client import Client
from evalsite_client.errors import InputError

MAX_DIGITS: Final = 18


def choose_number(client: Client, kind: str, text: str, *, game: str) -> int:
    """Return the number of an agent or a worker, of which digits alone are one. Raises InputError.

    What changes a row must not take another one whose name is that number.
    """
    if text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS:
        return int(text)
    return find_number(client, kind, text, game=game)


def find_number(client: Client, kind: str, text: str, *, game: str) -> int:
    """Return the number of the row that a text names. Raises InputError."""
    if not text:
        raise InputError("id", f"is empty: name the {kind}")
    rows: Iterable[Any] = ()
    if kind == "agent":
        rows = client.agents.list(name=text, game=game or None)
    elif kind == "worker":
        rows = client.workers.list(node=text)
    elif kind in ("tournament", "schedule"):
        listed = client.tournaments if kind == "tournament" else client.schedules
        rows = (row for row in listed.list(page_size=1_000) if row.name == text)
    is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
    if is_number and kind in ("match", "tournament", "campaign"):
        return int(text)
    named = list(islice(rows, 2))
    if kind == "agent" and len(named) > 1:
        raise InputError("id", f"several games have an agent {text!r}: --game says which")
    if named:
        return int(named[0].id)
    if is_number:
        return int(text)
    raise InputError("id", f"there is no {kind} {text!r}")
