"""Which ways to train there are, by id."""

from typing import cast

from arena import catalogs
from arena.trainers.base import TrainerSpec

FAMILY = catalogs.Family("arena.trainers.catalog", "trainer", ("title", "parameters"))


def names() -> tuple[str, ...]:
    """Return the ids of all trainers, in order."""
    return catalogs.list_ids(FAMILY)


def get(name: str) -> TrainerSpec:
    """Return the trainer of that id. Raises UnknownNameError."""
    return cast(TrainerSpec, catalogs.get_entry(FAMILY, name))
