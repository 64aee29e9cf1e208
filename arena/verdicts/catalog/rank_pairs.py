"""Rank pairs: the order of the agents, nearly.

The error is the share of pairs in the wrong order that may be expected, a milder promise than that
of rank_all: pairs closer than the margin count as right. The usual question about a large field.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from arena.parameters import Parameter
from arena.verdicts.base import StopReason, Terms, Verdict, check_field
from arena.verdicts.beliefs import N_TOP, Belief
from arena.verdicts.claims import compare_neighbours, is_ready


class _RankPairs:
    id: Final = "rank_pairs"
    title: Final = "What is the order, up to a share of the pairs?"
    parameters: Sequence[Parameter] = ()

    def check(self, terms: Terms, n_agents: int) -> None:  # noqa: ARG002  # any terms will do
        check_field(n_agents)

    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        if not is_ready(belief, belief.order):
            return None
        if _expected_share(belief, terms.margin) < 1 - terms.error:
            return None
        exact = _expected_share(belief, 0.0)
        why = StopReason.DECIDED if exact >= 1 - terms.error else StopReason.WITHIN_MARGIN
        return _make_verdict(
            belief,
            exact if why is StopReason.DECIDED else _expected_share(belief, terms.margin),
            why,
        )

    def guess(self, belief: Belief, terms: Terms) -> Verdict:
        return _make_verdict(
            belief, _expected_share(belief, terms.margin), StopReason.OUT_OF_BUDGET
        )


def _expected_share(belief: Belief, margin: float) -> float:
    """Return the expected share of pairs in the right order: row by row where they are many."""
    order, n = belief.order, belief.n_agents
    if n <= N_TOP:
        above, below = np.triu_indices(n, 1)
        return float(belief.superiority(order[above], order[below], -margin).mean())
    right = 0.0
    for place in range(n - 1):
        # A row at a time: all pairs of 10,000 agents would be 400 MB an array.
        below = order[place + 1 :]
        above = np.full(len(below), order[place])
        right += float(belief.superiority(above, below, -margin).sum())
    return right / (n * (n - 1) / 2)


def _make_verdict(belief: Belief, share: float, why: StopReason) -> Verdict:
    subjects = tuple(int(agent) for agent in belief.order)
    order = " > ".join(["{}"] * len(subjects))
    statement = f"{order}, right in {share:.1%} of the pairs"
    return Verdict(statement, subjects, share, why, compare_neighbours(belief, subjects))


QUESTION = _RankPairs()
