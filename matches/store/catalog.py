"""Titles and problems of games and policy kinds, also where their file is gone or broken."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from arena.catalogs import count_reloads
from arena.errors import ArenaError, UnknownNameError
from arena.games import registry as games
from arena.games.base import GameSpec
from arena.games.reference import Reference, describe_game
from arena.policies import registry as policies
from arena.teams import NO_TEAMS, Teams
from matches.models import IMPORTED


class Suite(NamedTuple):
    """One-seat games that are shown together; name: as addresses have it."""

    name: str
    title: str
    tasks: list[GameSpec]


def list_suites() -> list[Suite]:
    """Return the suites of the games that can be used here, by name."""
    suites: dict[str, Suite] = {}
    for spec in (games.get(game).spec for game in games.names()):
        if name := spec.suite.lower():
            suites.setdefault(name, Suite(name, spec.suite, [])).tasks.append(spec)
    return [suites[name] for name in sorted(suites)]


def game_title(game: str) -> str:
    """Return the title of a game; its id, marked, where its file cannot be used here."""
    try:
        return games.get(game).spec.title
    except ArenaError:
        return f"{game} (unknown here)"


def suite_of(game: str) -> str:
    """Return the suite that a game is a task of; empty where it is of none or its file is gone."""
    try:
        return games.get(game).spec.suite
    except ArenaError:
        return ""


def is_scored_game(game: str) -> bool:
    """Say whether episodes of a game are compared by score; no where its file is gone."""
    try:
        return games.get(game).spec.is_scored
    except ArenaError:
        return False


def game_teams(game: str) -> Teams:
    """Return the teams of a game; none where its file is gone: its results are still shown."""
    try:
        return games.get(game).spec.teams
    except ArenaError:
        return NO_TEAMS


def policy_title(policy: str) -> str:
    """Return the title of a policy kind; its id, marked, where its file cannot be used here."""
    if policy == IMPORTED:
        return "Imported: known by its results alone"
    try:
        return policies.get(policy).title
    except ArenaError:
        return f"{policy} (unknown here)"


def game_problem(game: str) -> str:
    """Return why a game cannot be used here and what to do; empty when it can."""
    return _describe_problem(games.get, game)


def policy_problem(policy: str) -> str:
    """Return why a policy kind cannot be used here and what to do; empty when it can."""
    if policy == IMPORTED:
        return "it is known by imported results alone: nothing here can play it"
    return _describe_problem(policies.get, policy)


def read_reference(game: str) -> Reference:
    """Return what who trains for a game must know. Raises ArenaError for one not usable here."""
    return _read_reference(game, games.version(game), count_reloads())


@lru_cache(maxsize=64)
def _read_reference(game: str, version: str, _n_reloads: int) -> Reference:
    return describe_game(games.get(game), version)


def _describe_problem(get: Callable[[str], object], name: str) -> str:
    try:
        get(name)
    except UnknownNameError as error:
        # Without the choices: of what there was before, nobody chooses another.
        return f"unknown {error.family} {name!r}: {error.hint}"
    except ArenaError as error:
        return str(error)
    return ""
