"""Whether agents and leaderboards are made of the code that is here; else tournaments wait.

An edited plug-in is another competitor, or another game: what is known of the one says nothing of
the other. So an agent keeps its version for ever, and registering it again under its name makes
the next one (matches.artifacts.agents); a leaderboard keeps the rules that it was opened under.

Tournaments whose code is missing are held back, never cancelled: a plug-in may be missing only
because one process was started without EVALSITE_PLUGINS, or broken only until its author saves the
file again.
"""

import logging
from collections.abc import Iterable
from functools import lru_cache

from django.db.models import QuerySet

from arena import catalogs
from matches.models import Agent, Leaderboard, Tournament
from matches.models.versions import (
    is_same_version,
    short_version,
    version_of_agent,
    version_of_game,
)
from matches.store.catalog import game_problem, policy_problem
from matches.store.formats import hide_folders

log = logging.getLogger(__name__)

GAME, AGENTS = "held back, game: ", "held back, agents: "
"""How the problem of a tournament begins, by who looks: each clears its own only."""
_MAX = 300


def filter_runnable(tournaments: Iterable[Tournament]) -> list[Tournament]:
    """Return the tournaments whose code is here; write down why the others are held back."""
    runnable = []
    for tournament in tournaments:
        board = tournament.leaderboard
        problem = game_problem(board.game) or describe_outdated_board(board, is_new=False)
        if _note_problem(tournament, GAME, problem):
            continue
        n_reloads = catalogs.count_reloads()
        problem = _describe_agents_problem(tournament.pk, tournament.key, n_reloads)
        if not _note_problem(tournament, AGENTS, problem):
            runnable.append(tournament)
    return runnable


def is_plannable(tournament: Tournament) -> bool:
    """Say whether all the code of its matches is here; write down what is missing."""
    return bool(filter_runnable([tournament]))


def is_held(tournament: Tournament) -> bool:
    """Say whether it waits for code."""
    return tournament.problem.startswith((GAME, AGENTS))


@lru_cache(maxsize=10_000)
def _describe_agents_problem(pk: int, _key: str, _generation: int) -> str:
    """Return what is wrong with the code of its entrants."""
    # Kept until the catalogs are read again, as the relay asks before every order. The key tells
    # apart tournaments of two databases that have one number.
    entered = Agent.objects.filter(tournaments=pk)
    kinds = entered.order_by().values_list("policy", flat=True).distinct()
    problems = (policy_problem(kind) for kind in sorted(kinds))
    return next(filter(None, problems), "") or describe_outdated_agent(entered, is_new=False)


def _note_problem(tournament: Tournament, begins: str, problem: str) -> str:
    """Write down why a tournament is held back, or clear what held it back; return the problem."""
    # Every reader sees it: the page of the game tells staff where its files should lie.
    text = f"{begins}{hide_folders(problem)}"[:_MAX] if problem else ""
    # The other one who looks clears its own text.
    if text != tournament.problem and (problem or tournament.problem.startswith(begins)):
        Tournament.objects.filter(pk=tournament.pk).update(problem=text)
        tournament.problem = text
        change = f"{begins}{problem}" if problem else "goes on: its code is here again"
        log.warning("tournament %s: %s", tournament.pk, change)
    return problem


def describe_outdated_agent(agents: QuerySet[Agent], *, is_new: bool) -> str:
    """Return why one of these agents cannot play any more; empty when all can.

    is_new: what is not known of the versions of old rows is no reason for tournaments under way,
    but a new one must not mix results of two codes. Raises UnknownNameError, CatalogError.
    """
    columns = ("policy", "checkpoint__architecture", "version")
    for policy, architecture, version in agents.order_by().values_list(*columns).distinct():
        own_version = version_of_agent(policy, architecture or "")
        if not is_same_version(version, own_version) and (version or is_new):
            agent = agents.filter(policy=policy, version=version).order_by("pk").first()
            return (
                f"{agent} is of version {short_version(version)} of {policy}, which is "
                f"{short_version(own_version)} here: register it again under its name, which makes "
                "a new agent of it, or bring the old file back"
            )
    return ""


def describe_outdated_board(board: Leaderboard, *, is_new: bool) -> str:
    """Return why a leaderboard is of other rules than those that are here; empty when it is not.

    is_new: as of `describe_outdated_agent`. Raises UnknownNameError, CatalogError.
    """
    own_version = version_of_game(board.game)
    is_unused_or_under_way = not (is_new and board.next_sequence > 1)
    if is_same_version(board.game_version, own_version):
        return ""
    if not board.game_version and is_unused_or_under_way:
        return ""
    return (
        f"leaderboard {board.name} is of version {short_version(board.game_version)} of "
        f"{board.game}, which is {short_version(own_version)} here: open a new leaderboard, or "
        "bring the old file back"
    )


def adopt_rules(board: Leaderboard) -> None:
    """Note the rules of a leaderboard that was opened before versions were kept, and never used."""
    if not board.game_version:
        board.game_version = version_of_game(board.game)
        Leaderboard.objects.filter(pk=board.pk).update(game_version=board.game_version)
