"""Whether a node has the plug-in file of a game as it is here: else it gets none of its orders."""

from collections.abc import Iterator, Mapping, Sequence

from arena import catalogs
from arena.games import registry as games
from arena.needs import Needs
from matches.models import Worker
from matches.models.versions import short_version

COPY_HINT = (
    "copy it to the folder of EVALSITE_PLUGINS there, install what it declares and start the node "
    "again"
)
MAX_NAMED = 3
"""Nodes, or files of a node, that are named; of more it is said how many."""


def has_file(plugins: Mapping[str, str] | None, game: str) -> bool:
    """Say whether a node with these files may play a game; shipped games need none.

    None: a node of an older version, which compares when it is sent an order.
    """
    own = catalogs.plugin_hash(games.FAMILY, game)
    return not own or plugins is None or plugins.get(_name_file(game)) == own


def describe_missing_file(workers: Sequence[Worker], game: str) -> str:
    """Return which file these nodes have instead of the one that is here."""
    own = short_version(catalogs.plugin_hash(games.FAMILY, game))
    return (
        f"a play node with the file {_name_file(game)} as it is here ({own}): "
        f"{_name_others(workers, game)} ({COPY_HINT})"
    )


def list_other_files(worker: Worker) -> list[str]:
    """Return which games a node gets no match of because its file is another, or not there."""
    others = [game for game, _ in _list_plugin_games() if _lacks_file(worker, game)]
    lines = [
        f"no match of {game}: here {_name_file(game)} is {own}, {_name_others([worker], game)} "
        f"({COPY_HINT})"
        for game, own in _list_plugin_games()
        if game in others[:MAX_NAMED]
    ]
    more = len(others) - MAX_NAMED
    return [*lines, f"nor of {more:,} more games"] if more > 0 else lines


def list_game_files(workers: Sequence[Worker]) -> list[tuple[str, str, str]]:
    """Return (file, its hash here, which nodes have another) of the plug-in games that are here."""
    rows = []
    for game, own in _list_plugin_games():
        others = [worker for worker in workers if _lacks_file(worker, game)]
        rows.append((_name_file(game), own, _name_others(others, game)))
    return rows


def _list_plugin_games() -> Iterator[tuple[str, str]]:
    """Yield each game that is a plug-in here with its hash as people read it."""
    for game in games.names():
        if own := catalogs.plugin_hash(games.FAMILY, game):
            yield game, short_version(own)


def _lacks_file(worker: Worker, game: str) -> bool:
    """Say whether it could play a game if it had its file; one that it cannot play needs none."""
    needs = Needs(games.get(game).spec.capability)
    return needs.are_met_by(worker.capabilities) and not has_file(worker.plugins, game)


def _name_file(game: str) -> str:
    return f"{games.FAMILY.folder}/{game}"


def _name_others(workers: Sequence[Worker], game: str) -> str:
    """Return which file each of these nodes has."""
    named = []
    for worker in workers[:MAX_NAMED]:
        other = (worker.plugins or {}).get(_name_file(game))
        named.append(f"{worker.node} has {short_version(other) if other else 'none'}")
    if len(workers) > MAX_NAMED:
        named.append(f"and {len(workers) - MAX_NAMED:,} more")
    return ", ".join(named)
