"""Which rating systems there are, by id: the files of this folder that offer a SYSTEM."""

from functools import cache
from importlib import import_module
from typing import cast

from arena import catalogs
from arena.errors import UnknownNameError
from arena.ratings.base import RatingSystem

FAMILY = catalogs.Family("arena.ratings", "system")


@cache
def names() -> tuple[str, ...]:
    """Return the ids of all rating systems, in order."""
    modules = catalogs.names(FAMILY)
    return tuple(
        name for name in modules if hasattr(import_module(f"{FAMILY.package}.{name}"), "SYSTEM")
    )


def get(name: str) -> RatingSystem:
    """Return the rating system of that id. Raises UnknownNameError."""
    if name not in names():
        raise UnknownNameError("rating system", name, names())
    return cast(RatingSystem, catalogs.entry(FAMILY, name))
