"""Which architectures there are, by id."""

from typing import cast

from arena import catalogs
from inference.architectures.base import Architecture

FAMILY = catalogs.Family(
    "inference.architectures.catalog",
    "architecture",
    ("title", "parameters", "refusal", "state_size", "build"),
)


def names() -> tuple[str, ...]:
    """Return the ids of all architectures, in order."""
    return catalogs.list_ids(FAMILY)


def get(name: str) -> Architecture:
    """Return the architecture of that id. Raises UnknownNameError."""
    return cast(Architecture, catalogs.get_entry(FAMILY, name))
