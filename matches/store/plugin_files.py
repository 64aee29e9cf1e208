"""Whether a node has the same plug-in files as control: else it is sent no such matches.

Of games and policies; architectures are loaded where networks run, which is told by the checkpoint.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from arena import catalogs
from arena.games import registry as games
from arena.needs import Needs
from arena.policies import registry as policies
from matches.models import Agent, Tournament, Worker
from matches.models.versions import short_version

COPY_HINT = (
    "copy it to the folder of EVALSITE_PLUGINS there, install what it declares and start the node "
    "again"
)
MAX_NAMED = 3
"""Nodes, or files of a node, that are named; of more it is said how many."""

Files = tuple[tuple[str, str], ...]
"""Plug-in files by name, games/my_game, each with its hash here."""


def list_files(tournament: Tournament) -> Files:
    """Return the plug-ins that its matches are played with; what is shipped needs no file."""
    of_game = _list_files(games.FAMILY, [tournament.leaderboard.game])
    plugins = _list_files(policies.FAMILY, policies.names())
    if not plugins:
        return of_game
    entered = _list_policies(tournament.pk, tournament.key)
    return of_game + _list_files(policies.FAMILY, entered)


# As long as entrants stay, which is for ever: the relay asks before every order. The key tells
# apart tournaments of two databases that have one number.
@lru_cache(maxsize=10_000)
def _list_policies(pk: int, _key: str) -> tuple[str, ...]:
    kinds = Agent.objects.filter(tournaments=pk).order_by().values_list("policy", flat=True)
    return tuple(sorted(kinds.distinct()))


def _list_files(family: catalogs.Family, names: Sequence[str]) -> Files:
    hashes = [(f"{family.folder}/{name}", catalogs.plugin_hash(family, name)) for name in names]
    return tuple((file, own) for file, own in hashes if own)


def has_files(plugins: Mapping[str, str] | None, files: Files) -> bool:
    """Say whether a node with these plug-ins has the files.

    None: a node of an older version, which compares when it is sent an order.
    """
    return not list_lacking(plugins, files)


def list_lacking(plugins: Mapping[str, str] | None, files: Files) -> Files:
    """Return the files that a node lacks or has in another version."""
    if plugins is None:
        return ()
    return tuple((file, own) for file, own in files if plugins.get(file) != own)


def describe_missing_files(workers: Sequence[Worker], files: Files) -> str:
    """Return which plug-in files of these nodes differ from control's."""
    lacking = dict.fromkeys(file for w in workers for file in list_lacking(w.plugins, files))
    described = []
    for file, own in lacking:
        others = [w for w in workers if list_lacking(w.plugins, ((file, own),))]
        described.append(
            f"the file {file} as it is here ({short_version(own)}): {_name_others(others, file)}"
        )
    return f"a play node with {'; and '.join(described)} ({COPY_HINT})"


def list_other_files(worker: Worker) -> list[str]:
    """Return which games a node gets no match of because its file is another, or not there."""
    others = [game for game, _ in _list_plugin_games() if _lacks_file(worker, game)]
    lines = [
        f"no match of {game}: here {_name_file(game)} is {own}, "
        f"{_name_others([worker], _name_file(game))} ({COPY_HINT})"
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
        rows.append((_name_file(game), own, _name_others(others, _name_file(game))))
    return rows


def _list_plugin_games() -> Iterator[tuple[str, str]]:
    """Yield each game that is a plug-in here with its hash as people read it."""
    for game in games.names():
        if own := catalogs.plugin_hash(games.FAMILY, game):
            yield game, short_version(own)


def _lacks_file(worker: Worker, game: str) -> bool:
    """Say whether it could play a game if it had its file; one that it cannot play needs none."""
    needs = Needs(games.get(game).spec.capability)
    files = _list_files(games.FAMILY, [game])
    return needs.are_met_by(worker.capabilities) and not has_files(worker.plugins, files)


def _name_file(game: str) -> str:
    return f"{games.FAMILY.folder}/{game}"


def _name_others(workers: Sequence[Worker], file: str) -> str:
    """Return which version of a file each of these nodes has."""
    texts = []
    for worker in workers[:MAX_NAMED]:
        other = (worker.plugins or {}).get(file)
        texts.append(f"{worker.node} has {short_version(other) if other else 'none'}")
    if len(workers) > MAX_NAMED:
        texts.append(f"and {len(workers) - MAX_NAMED:,} more")
    return ", ".join(texts)
