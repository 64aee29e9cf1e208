"""Which questions there are, by id."""

from typing import cast

from arena import catalogs
from arena.verdicts.base import Question

FAMILY = catalogs.Family(
    "arena.verdicts.catalog", "question", ("title", "parameters", "check", "judge")
)


def names() -> tuple[str, ...]:
    """Return the ids of all questions, in order."""
    return catalogs.list_ids(FAMILY)


def get(name: str) -> Question:
    """Return the question of that id. Raises UnknownNameError."""
    return cast(Question, catalogs.get_entry(FAMILY, name))
