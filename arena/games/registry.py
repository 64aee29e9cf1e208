"""Which games there are, by id."""

from typing import cast

from arena import catalogs
from arena.games.base import Game, GameSpec


def _refuse_game(game: Game) -> str:
    """Return why a game cannot be offered; empty when it can."""
    if not isinstance(game.spec, GameSpec):
        return f"has a spec that is no GameSpec, got {game.spec!r:.80}"
    if game.spec.n_seats < 1:
        return f"has n_seats={game.spec.n_seats}: someone must play, give it 1 or more"
    return ""


FAMILY = catalogs.Family(
    "arena.games.catalog", "game", ("spec", "configured", "parameters", "start"), _refuse_game
)


def names() -> tuple[str, ...]:
    """Return the ids of all games, in order."""
    return catalogs.list_ids(FAMILY)


def version(name: str) -> str:
    """Return the version of the rules: as declared, of a plug-in the SHA-256 of its file.

    Raises UnknownNameError, CatalogError.
    """
    return catalogs.plugin_hash(FAMILY, name) or str(get(name).spec.rules_version)


def get(name: str) -> Game:
    """Return the game of that id under its default parameters. Raises UnknownNameError."""
    return cast(Game, catalogs.get_entry(FAMILY, name))
