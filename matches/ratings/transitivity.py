"""Whether one number misleads on a leaderboard: deviance test, cycles and the Nash average.

Of its strongest agents, so that the cost is bounded; made once for all who look.
"""

from dataclasses import dataclass

import numpy as np

from arena.games import registry as games
from arena.ratings.counts import Floats, PairCounts
from arena.transitivity.examination import Examination, examine_results
from matches.models import Leaderboard, Rating
from matches.ratings.fitting import COUPLE, evidence
from matches.store.catalog import game_problem
from matches.store.fast_store import get_or_make

N_AGENTS = 30
FEWEST = 3
"""Fewer agents have no cycle."""
EVERY_S = 60.0
"""On a board that is played on, it is looked at anew so often."""
N_CYCLES = 8


@dataclass(frozen=True)
class Named:
    """An agent of the examination."""

    pk: int
    name: str


@dataclass(frozen=True)
class Round:
    """Three agents of which each beats the next, with its share of the points."""

    agents: tuple[Named, Named, Named]
    shares: tuple[float, float, float]
    p_value: float


@dataclass(frozen=True)
class Weighed:
    """An agent's weight in the mixture that nobody beats, its mean payoff (-1..1) against it."""

    agent: Named
    rank: int
    weight: float
    skill: float


@dataclass(frozen=True)
class Finding:
    """What was found; warning is None where a ranking does justice to the results."""

    n_agents: int
    n_results: int
    warning: str | None
    deviance: float
    df: int
    p_value: float
    cycles: tuple[Round, ...]
    nash: tuple[Weighed, ...]


def of_board(board: Leaderboard) -> Finding | None:
    """Return what the results among the strongest say; None where they can say nothing.

    The distribution of the test is that of matches of two.
    """
    if game_problem(board.game):
        return None
    if games.get(board.game).spec.n_seats != COUPLE or not board.n_settled:
        return None
    key = f"transitivity.{board.pk}"
    return get_or_make(
        key, board.results_hash, lambda: _found(board), form=Finding | None, every_s=EVERY_S
    )


def _found(board: Leaderboard) -> Finding | None:
    rated = Rating.objects.filter(leaderboard=board).order_by("-mu", "agent_id")
    rows = list(rated.values_list("agent_id", "agent__name", "mu")[:N_AGENTS])
    counts = evidence(board, [pk for pk, _, _ in rows])
    if len(rows) < FEWEST or counts.n_results == 0:
        return None
    named = [Named(pk, name) for pk, name, _ in rows]
    return _said(named, counts, examine_results(counts, _mu(rows), seed=board.pk))


def _mu(rows: list[tuple[int, str, float]]) -> Floats:
    return np.array([mu for _, _, mu in rows])


def _said(named: list[Named], counts: PairCounts, found: Examination) -> Finding:
    weighed = [
        Weighed(agent, rank, float(weight), float(skill))
        for rank, (agent, weight, skill) in enumerate(
            zip(named, found.nash.weights, found.nash.skill, strict=True), 1
        )
    ]
    return Finding(
        len(named),
        counts.n_results,
        found.warning([agent.name for agent in named]),
        found.deviance.deviance,
        found.deviance.df,
        found.deviance.p_value,
        tuple(
            Round((named[a], named[b], named[c]), cycle.shares, cycle.p_value)
            for cycle in found.cycles[:N_CYCLES]
            for a, b, c in (cycle.agents,)
        ),
        tuple(sorted(weighed, key=lambda row: (-row.skill, -row.weight, row.rank))),
    )
