"""Which engines there are, by id."""

from typing import cast

from arena import catalogs
from training.engines.base import Engine

FAMILY = catalogs.Family("training.engines.catalog", "engine", ("algorithms", "learn"))


def names() -> tuple[str, ...]:
    """Return the ids of all engines, in order."""
    return catalogs.list_ids(FAMILY)


def get(name: str) -> Engine:
    """Return the engine of that id. Raises UnknownNameError."""
    return cast(Engine, catalogs.get_entry(FAMILY, name))
