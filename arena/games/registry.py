"""Which games there are, by id."""

from typing import cast

from arena import catalogs
from arena.games.base import Game

_PACKAGE = "arena.games.catalog"


def names() -> tuple[str, ...]:
    """Return the ids of all games, in order."""
    return catalogs.names(_PACKAGE)


def get(name: str) -> Game:
    """Return the game of that id under its default parameters. Raises UnknownNameError."""
    return cast(Game, catalogs.entry(_PACKAGE, "game", name))
