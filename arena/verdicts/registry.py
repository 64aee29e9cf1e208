"""Which questions there are, by id."""

from typing import cast

from arena import catalogs
from arena.verdicts.base import Question

_PACKAGE = "arena.verdicts.catalog"


def names() -> tuple[str, ...]:
    """Return the ids of all questions, in order."""
    return catalogs.names(_PACKAGE)


def get(name: str) -> Question:
    """Return the question of that id. Raises UnknownNameError."""
    return cast(Question, catalogs.entry(_PACKAGE, "question", name))
