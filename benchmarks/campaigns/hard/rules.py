"""Rules by name: what says of the blocks of a campaign whether it is over, and with what verdict.

A new rule is a function here and a line in RULES.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from arena.ratings.counts import Floats, PairCounts
from arena.ratings.settled import FittedTerms, SettledRatings, settle_ratings
from arena.verdicts import registry as questions
from arena.verdicts.base import StopReason, Terms, Verdict, find_expected_departures
from arena.verdicts.beliefs import Belief, form_belief
from arena.verdicts.evidence import infer_belief
from arena.verdicts.seed_blocks import SeedBlocks
from benchmarks.campaigns.hard.blocks import PlayedBlocks, count_games

# Takes the blocks, how many agents there are, the id of the question and its terms.
Rule = Callable[[PlayedBlocks, int, str, Terms], Verdict | None]

# The newest blocks, in which the dispersion is measured (matches.campaigns.belief).
N_LOOKED_AT = 1_000
# Any other reason says that the model does not fit: nothing is claimed.
_CLAIMING = (StopReason.DECIDED, StopReason.WITHIN_MARGIN)
_NOT_REFUSING = (*_CLAIMING, StopReason.OUT_OF_BUDGET)


def is_bold(verdict: Verdict) -> bool:
    """Return whether a verdict claims to be sure."""
    return verdict.why in _CLAIMING


def is_refused(verdict: Verdict) -> bool:
    """Return whether a verdict says that it cannot be given: never a wrong one."""
    return verdict.why not in _NOT_REFUSING


def judge_as_campaigns(
    blocks: PlayedBlocks, n_agents: int, question: str, terms: Terms, *, may_change: bool = False
) -> Verdict | None:
    """Judge as campaigns do: by what is believed for all that the model leaves out.

    may_change: as they do of agents that are programs of others.
    """
    question_kind = questions.get(question)
    expected = find_expected_departures(question_kind, n_agents, is_checked=True)
    belief = infer_from_blocks(
        blocks, n_agents, expected_departures=expected, may_change=may_change
    )
    return question_kind.judge(belief, terms)


def infer_from_blocks(
    blocks: PlayedBlocks,
    n_agents: int,
    *,
    expected_departures: float = 0.0,
    may_change: bool = False,
) -> Belief:
    seed = np.arange(len(blocks.first))
    last_blocks = SeedBlocks(*blocks[:3], seed).take(slice(-N_LOOKED_AT, None))
    belief, _ = infer_belief(
        count_games(blocks),
        last_blocks,
        lambda counts, weight: settle(counts, n_agents, weight),
        expected_departures=expected_departures,
        may_change=may_change,
    )
    return belief


def judge_plainly(
    blocks: PlayedBlocks, n_agents: int, question: str, terms: Terms
) -> Verdict | None:
    """Judge by the posterior of the rating alone, each game a result of its own."""
    counts = count_games(blocks)
    settled = settle(counts, n_agents, 1.0)
    return questions.get(question).judge(form_belief(settled, counts), terms)


def settle(counts: PairCounts, n_agents: int, weight: float | Floats) -> SettledRatings:
    terms = FittedTerms(seat=True, draws=True)
    return settle_ratings(counts, n_agents, weight=weight, terms=terms)


RULES: dict[str, Rule] = {
    "campaigns": judge_as_campaigns,
    "campaigns_of_programs": partial(judge_as_campaigns, may_change=True),
    "plain": judge_plainly,
}
