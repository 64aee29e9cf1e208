"""Who plays the next seeds of a campaign that asks by mean scores."""

from collections.abc import Sequence

import numpy as np

from arena.verdicts.base import Terms
from arena.verdicts.score_questions import choose_ahead, find_weakest_pair, group_sizes
from matches.models import Campaign
from matches.ratings.score_tables import ScoreRangeError, count_planned_seeds, load_scores


def choose_episodes(
    campaign: Campaign, agents: Sequence[int], n_episodes: int
) -> list[tuple[int, ...]]:
    """Return the next lineups, by position: those whose order is least settled play on."""
    try:
        pair = _find_pair(campaign, agents)
    except ScoreRangeError:
        return []  # its next judgement ends it and says why
    n_seeds = np.array(count_planned_seeds(campaign.tournament, agents), np.int64)
    chosen = choose_ahead(pair, n_seeds, n_episodes)
    return [(agent,) for agent in chosen]


def read_sizes(campaign: Campaign, n_agents: int) -> tuple[int, ...]:
    """Return how large the groups are that the question tells apart."""
    return group_sizes(campaign.question, n_agents, int(campaign.parameters.get("k", 1)))


def _find_pair(campaign: Campaign, agents: Sequence[int]) -> Sequence[int]:
    parameters = campaign.parameters
    if campaign.question == "beats":
        return int(parameters["a"]), int(parameters["b"])
    terms = Terms(campaign.error, campaign.margin, parameters)
    scores = load_scores(campaign.tournament, agents)
    pair = find_weakest_pair(scores, read_sizes(campaign, len(agents)), terms)
    return [int(agent) for agent in pair]
