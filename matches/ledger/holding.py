"""Tournaments that wait because code that they need is not here: shown, never cancelled for it.

A plug-in may be missing only because one process was started without EVALSITE_PLUGINS, or broken
only until its author saves the file again: what was played must not be lost for that.
"""

import logging
from collections.abc import Iterable
from functools import lru_cache

from arena import catalogs
from matches.ledger.versions import outdated_agent, outdated_board
from matches.models import Agent, Tournament
from matches.store.titles import game_problem, policy_problem

log = logging.getLogger(__name__)

GAME, AGENTS = "held back, game: ", "held back, agents: "
"""How the problem of a tournament begins, by who looks: each clears its own only."""
_MAX = 300


def runnable(tournaments: Iterable[Tournament]) -> list[Tournament]:
    """Return those whose game can be used here; of the others it is written down why not."""
    return [t for t in tournaments if not _note(t, GAME, _rules_problem(t)) and _has_agents(t)]


def is_plannable(tournament: Tournament) -> bool:
    """Say whether all the code that its matches need is here; write down what is not."""
    return bool(runnable([tournament]))


def is_held(tournament: Tournament) -> bool:
    """Say whether it waits for code."""
    return tournament.problem.startswith((GAME, AGENTS))


def _rules_problem(tournament: Tournament) -> str:
    board = tournament.leaderboard
    return game_problem(board.game) or outdated_board(board, is_new=False)


def _has_agents(tournament: Tournament) -> bool:
    """Say whether the code of every entrant is here, as it was when they were registered."""
    problem = _agents_problem(tournament.pk, tournament.key, catalogs.count_reloads())
    return not _note(tournament, AGENTS, problem)


@lru_cache(maxsize=10_000)
def _agents_problem(pk: int, _key: str, _generation: int) -> str:
    """Return what is wrong with the code of its entrants; looked up once, as neither changes.

    The relay asks before every order. The key is of this tournament alone, in whatever database.
    """
    entered = Agent.objects.filter(tournaments=pk)
    kinds = entered.order_by().values_list("policy", flat=True).distinct()
    problems = (policy_problem(kind) for kind in sorted(kinds))
    return next(filter(None, problems), "") or outdated_agent(entered, is_new=False)


def _note(tournament: Tournament, begins: str, problem: str) -> str:
    """Write down why a tournament is held back, or that this holds it back no more."""
    text = f"{begins}{problem}"[:_MAX] if problem else ""
    if text != tournament.problem and (problem or tournament.problem.startswith(begins)):
        Tournament.objects.filter(pk=tournament.pk).update(problem=text)
        tournament.problem = text
        log.warning("tournament %s: %s", tournament.pk, text or "goes on: its code is here again")
    return problem
