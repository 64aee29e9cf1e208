"""Which trainers there are, by id."""

from typing import cast

from arena import catalogs
from training.base import Trainer

FAMILY = catalogs.Family("training.catalog", "trainer", ("begin",))


def names() -> tuple[str, ...]:
    """Return the ids of all trainers, in order."""
    return catalogs.list_ids(FAMILY)


def get(name: str) -> Trainer:
    """Return the trainer of that id. Raises UnknownNameError."""
    return cast(Trainer, catalogs.get_entry(FAMILY, name))
