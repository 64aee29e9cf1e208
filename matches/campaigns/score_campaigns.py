"""Campaigns that ask by mean scores on equal seeds: what may be asked, and what is judged so far.

They go by the episodes of their own tournament only: the evidence holds however often somebody
looks, as long as nobody chose by a score which episodes it is made of.
"""

from collections.abc import Mapping, Sequence
from math import exp
from typing import Final

import numpy as np

from arena.games import registry as games
from arena.pairing.registry import SEEDS
from arena.parameters import Value
from arena.verdicts import score_questions
from arena.verdicts.base import Terms, Verdict
from arena.verdicts.score_questions import check_pairs, group_sizes
from matches.errors import BadInputError
from matches.models import Campaign, Leaderboard
from matches.plans import CampaignPlan
from matches.ratings.score_choices import read_sizes
from matches.ratings.score_tables import load_scores

BEATS: Final = "beats"
QUESTIONS: Final = ("best", "top_k", "rank_all", BEATS)


def check_scores(
    plan: CampaignPlan, parameters: Mapping[str, Value], leaderboard: Leaderboard, n_agents: int
) -> None:
    """Raise BadInputError unless a question by scores can be answered on the leaderboard."""
    spec = games.get(leaderboard.game).spec
    if not spec.is_scored:
        problem = f"compares scores of games of one seat, and {spec.id} has {spec.n_seats}"
        raise BadInputError("margin_score", f"{problem}: give margin_elo")
    if spec.score_range is None:
        problem = (
            f"needs the least and the most score of {spec.id}: declare score_range in its spec"
        )
        raise BadInputError("margin_score", problem)
    if plan.question not in QUESTIONS:
        names = ", ".join(QUESTIONS)
        problem = f"with margin_score it is one of {names}, got {plan.question!r}"
        raise BadInputError("question", problem)
    if plan.question != BEATS:
        k = int(parameters.get("k", 1))
        check_pairs(group_sizes(plan.question, n_agents, k))
    if plan.pairing not in {"", SEEDS}:
        problem = f"with margin_score it is {SEEDS} or empty, got {plan.pairing!r}"
        raise BadInputError("pairing", problem)


def judge_scores(campaign: Campaign, agents: Sequence[int]) -> tuple[Verdict | None, Verdict]:
    """Return the verdict, None while it is not sure, and the likeliest answer.

    Raises ScoreRangeError where a game gave a score outside of the range that it declares.
    """
    scores = load_scores(campaign.tournament, agents)
    terms = Terms(campaign.error, campaign.margin, campaign.parameters)
    if campaign.question == BEATS:
        a, b = (int(campaign.parameters[name]) for name in ("a", "b"))
        verdict = score_questions.judge_beats(scores, a, b, terms)
        return verdict, verdict or score_questions.guess_beats(scores, a, b, terms)
    sizes = read_sizes(campaign, len(agents))
    verdict = score_questions.judge_order(scores, sizes, terms)
    return verdict, verdict or score_questions.guess_order(scores, sizes, terms)


def measure_lead(campaign: Campaign, agents: Sequence[int]) -> float:
    """Return how sure it is that A beats B by more than the lead; 1/2 while nothing speaks for it.

    Of the two answers the one with more evidence counts: above 1/2 it is yes, below it is no. Sure
    is meant as in a verdict, however often one looks. Raises ScoreRangeError.
    """
    scores = load_scores(campaign.tournament, agents)
    a, b = (np.array([int(campaign.parameters[name])]) for name in ("a", "b"))
    lead = float(campaign.parameters["lead"])
    yes, no = scores.evidence(a, b, lead)[0], scores.evidence(b, a, -lead)[0]
    sure = max(0.5, 1 - exp(-max(yes, no, 0.0)))
    return sure if yes >= no else 1 - sure
