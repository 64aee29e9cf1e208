"""Which architectures there are, by id."""

from typing import cast

from arena import catalogs
from inference.architectures.base import Architecture

_PACKAGE = "inference.architectures.catalog"


def names() -> tuple[str, ...]:
    """Return the ids of all architectures, in order."""
    return catalogs.names(_PACKAGE)


def get(name: str) -> Architecture:
    """Return the architecture of that id. Raises UnknownNameError."""
    return cast(Architecture, catalogs.entry(_PACKAGE, "architecture", name))
