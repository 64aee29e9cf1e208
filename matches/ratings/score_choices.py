"""Who plays the next seeds of a campaign that asks by mean scores."""

from collections.abc import Sequence

import numpy as np

from arena.verdicts.base import Terms
from arena.verdicts.score_questions import PairEvidence, choose_ahead, group_sizes, weigh_pairs
from matches.models import Campaign
from matches.ratings.score_tables import ScoreRangeError, count_planned_seeds, load_scores


def choose_episodes(
    campaign: Campaign, agents: Sequence[int], n_episodes: int
) -> list[tuple[int, ...]]:
    """Return the next lineups, by position: those whose order is least settled play on."""
    try:
        pairs = _weigh_pairs(campaign, agents)
    except ScoreRangeError:
        return []  # its next judgement ends it and says why
    n_seeds = np.array(count_planned_seeds(campaign.tournament, agents), np.int64)
    return [(agent,) for agent in choose_ahead(pairs, n_seeds, n_episodes)]


def read_sizes(campaign: Campaign, n_agents: int) -> tuple[int, ...]:
    """Return how large the groups are that the question tells apart."""
    return group_sizes(campaign.question, n_agents, int(campaign.parameters.get("k", 1)))


def _weigh_pairs(campaign: Campaign, agents: Sequence[int]) -> PairEvidence:
    parameters = campaign.parameters
    if campaign.question == "beats":
        a, b = (np.array([int(parameters[name])]) for name in ("a", "b"))
        # There is no other pair to choose.
        return PairEvidence(a, b, np.zeros(1), np.zeros(1, np.int64))
    terms = Terms(campaign.error, campaign.margin, parameters)
    scores = load_scores(campaign.tournament, agents)
    return weigh_pairs(scores, read_sizes(campaign, len(agents)), terms)
