"""Tournaments that wait because code that they need is not here: shown, never cancelled for it.

A plug-in may be missing only because one process was started without EVALSITE_PLUGINS, or broken
only until its author saves the file again: what was played must not be lost for that.
"""

import logging
from collections.abc import Iterable

from matches.models import Agent, Tournament
from matches.titles import game_problem, policy_problem

log = logging.getLogger(__name__)

GAME, AGENTS = "held back, game: ", "held back, agents: "
"""How the problem of a tournament begins, by who looks: each clears its own only."""
_MAX = 300


def runnable(tournaments: Iterable[Tournament]) -> list[Tournament]:
    """Return those whose game can be used here; of the others it is written down why not."""
    return [t for t in tournaments if not _note(t, GAME, game_problem(t.leaderboard.game))]


def is_plannable(tournament: Tournament) -> bool:
    """Say whether all the code that its matches need is here; write down what is not."""
    if not runnable([tournament]):
        return False
    kinds = Agent.objects.filter(tournaments=tournament).values_list("policy", flat=True).distinct()
    problems = (policy_problem(kind) for kind in sorted(kinds))
    return not _note(tournament, AGENTS, next(filter(None, problems), ""))


def is_held(tournament: Tournament) -> bool:
    """Say whether it waits for code."""
    return tournament.problem.startswith((GAME, AGENTS))


def _note(tournament: Tournament, begins: str, problem: str) -> str:
    """Write down why a tournament is held back, or that this holds it back no more."""
    text = f"{begins}{problem}"[:_MAX] if problem else ""
    if text != tournament.problem and (problem or tournament.problem.startswith(begins)):
        Tournament.objects.filter(pk=tournament.pk).update(problem=text)
        tournament.problem = text
        log.warning("tournament %s: %s", tournament.pk, text or "goes on: its code is here again")
    return problem
