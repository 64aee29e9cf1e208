"""Whether one number misleads on a leaderboard: deviance test, cycles and the Nash average.

Of its strongest agents, so that the cost is bounded; made once for all who look.
"""

from dataclasses import dataclass

import numpy as np

from arena.games import registry as games
from arena.pairing.base import COUPLE
from arena.ratings.counts import PairCounts
from arena.transitivity.examination import Examination, examine_results
from matches.models import Leaderboard, Rating
from matches.ratings.fitting import load_own_counts
from matches.store.catalog import game_problem
from matches.store.fast_store import get_or_make

N_AGENTS = 30
# Fewer agents have no cycle.
FEWEST = 3
# On a board that is played on, it is looked at anew so often.
EVERY_S = 60.0
N_CYCLES = 8


@dataclass(frozen=True)
class NamedAgent:
    """An agent of the examination."""

    pk: int
    name: str


@dataclass(frozen=True)
class Cycle:
    """Three agents of which each beats the next, with its share of the points."""

    agents: tuple[NamedAgent, NamedAgent, NamedAgent]
    shares: tuple[float, float, float]
    p_value: float


@dataclass(frozen=True)
class MixtureShare:
    """An agent's weight in the mixture that nobody beats, its mean payoff (-1..1) against it."""

    agent: NamedAgent
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
    cycles: tuple[Cycle, ...]
    nash: tuple[MixtureShare, ...]


def examine_board(board: Leaderboard) -> Finding | None:
    """Return what the results among the strongest say; None where they can say nothing.

    The distribution of the test is that of matches of two.
    """
    if game_problem(board.game):
        return None
    if games.get(board.game).spec.n_seats != COUPLE or not board.n_settled:
        return None
    key = f"transitivity.{board.pk}"
    return get_or_make(
        key,
        board.results_hash,
        lambda: _examine_strongest(board),
        form=Finding | None,
        every_s=EVERY_S,
    )


def _examine_strongest(board: Leaderboard) -> Finding | None:
    rated = Rating.objects.filter(leaderboard=board).order_by("-mu", "agent_id")
    rows = list(rated.values_list("agent_id", "agent__name", "mu")[:N_AGENTS])
    counts = load_own_counts(board, [pk for pk, _, _ in rows])
    if len(rows) < FEWEST or counts.n_results == 0:
        return None
    agents = [NamedAgent(pk, name) for pk, name, _ in rows]
    mu = np.array([mu for _, _, mu in rows])
    return _name_findings(agents, counts, examine_results(counts, mu, seed=board.pk))


def _name_findings(agents: list[NamedAgent], counts: PairCounts, examined: Examination) -> Finding:
    weighed = [
        MixtureShare(agent, rank, float(weight), float(skill))
        for rank, (agent, weight, skill) in enumerate(
            zip(agents, examined.nash.weights, examined.nash.skill, strict=True), 1
        )
    ]
    return Finding(
        len(agents),
        counts.n_results,
        examined.warning([agent.name for agent in agents]),
        examined.deviance.deviance,
        examined.deviance.df,
        examined.deviance.p_value,
        tuple(
            Cycle((agents[a], agents[b], agents[c]), cycle.shares, cycle.p_value)
            for cycle in examined.cycles[:N_CYCLES]
            for a, b, c in (cycle.agents,)
        ),
        tuple(sorted(weighed, key=lambda row: (-row.skill, -row.weight, row.rank))),
    )
