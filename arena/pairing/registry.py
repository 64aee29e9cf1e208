"""Which pairings there are, by id."""

from typing import cast

from arena import catalogs
from arena.pairing.base import Pairing

_PACKAGE = "arena.pairing.catalog"


def names() -> tuple[str, ...]:
    """Return the ids of all pairings, in order."""
    return catalogs.names(_PACKAGE)


def get(name: str) -> Pairing:
    """Return the pairing of that id. Raises UnknownNameError."""
    return cast(Pairing, catalogs.entry(_PACKAGE, "pairing", name))
