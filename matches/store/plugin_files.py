"""Whether a node has the plug-in file of a game as it is here: else it gets none of its orders."""

from collections.abc import Iterator, Mapping, Sequence

from arena import catalogs
from arena.games import registry as games
from arena.needs import Needs
from matches.models import Worker
from matches.models.versions import short_version

COPY_HINT = "copy it to the folder of EVALSITE_PLUGINS there and start the node again"
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
    named = [f"{worker.node} has {_shorten(worker, game)}" for worker in workers[:MAX_NAMED]]
    if len(workers) > MAX_NAMED:
        named.append(f"{len(workers) - MAX_NAMED:,} more")
    own = short_version(catalogs.plugin_hash(games.FAMILY, game))
    return (
        f"a play node with the file {_name_file(game)} as it is here ({own}): "
        f"{', '.join(named)} ({COPY_HINT})"
    )


def list_other_files(worker: Worker) -> list[str]:
    """Return which games a node gets no match of because its file is another, or not there."""
    if worker.plugins is None:
        return []
    others = [game for game in _list_plugin_games() if not has_file(worker.plugins, game)]
    # Of a game that it could not play anyhow it needs no file.
    others = [
        g for g in others if Needs(games.get(g).spec.capability).are_met_by(worker.capabilities)
    ]
    lines = [
        f"no match of {game}: its file {_name_file(game)} is {_shorten(worker, game)}, here it is "
        f"{short_version(catalogs.plugin_hash(games.FAMILY, game))} ({COPY_HINT})"
        for game in others[:MAX_NAMED]
    ]
    more = len(others) - MAX_NAMED
    return [*lines, f"nor of {more:,} more games"] if more > 0 else lines


def _list_plugin_games() -> Iterator[str]:
    return (game for game in games.names() if catalogs.plugin_hash(games.FAMILY, game))


def _name_file(game: str) -> str:
    return f"{games.FAMILY.folder}/{game}"


def _shorten(worker: Worker, game: str) -> str:
    other = (worker.plugins or {}).get(_name_file(game))
    return short_version(other) if other else "none"
