"""Campaigns as programs and terminals read them: agents by name, what was spent, what is left."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from arena.verdicts.paired_blocks import PairedResult, compare_blocks
from matches.campaigns.starting import NAMED
from matches.ledger import costs
from matches.models import Agent, Campaign, CampaignPoint
from matches.ratings.entrants import entrants_of
from matches.store.bulk import among

# Entrants whose chances are shown: the likeliest ones.
SHOWN = 200


class Chance(NamedTuple):
    """An entrant and P(it is the best)."""

    agent: Agent
    p_best: float


class RankedEntrant(NamedTuple):
    """An entrant of a ranking, and P(it is better than the next one); None for the last."""

    agent: Agent
    p_above_next: float | None


@dataclass(frozen=True)
class Pairs(PairedResult):
    """What blocks say, and how many brought 0, 1/2, 1, 3/2 and 2 points."""

    blocks: Sequence[int]


class Upset(NamedTuple):
    """An agent, and one that it beats though that stands before it."""

    agent: Agent
    beats: Agent


class Spending(NamedTuple):
    """What the matches of a campaign have cost so far; core_s: seconds of play, all together."""

    matches: int
    core_s: float
    gpu_s: float
    money: float


def list_chances(campaign: Campaign) -> list[Chance]:
    """Return the likeliest entrants to be the best, the likeliest first; none before a judgement.

    A sequential test has none.
    """
    if not campaign.chances:
        return []
    agents = entrants_of(campaign.tournament)
    # Ties by id, so that two looks show the same order.
    likely = sorted(
        zip(campaign.chances, agents, strict=True), key=lambda chance: (-chance[0], chance[1])
    )
    agents_by_id = _agents_by_id([agent for _, agent in likely[:SHOWN]])
    return [Chance(agents_by_id[agent], chance) for chance, agent in likely[:SHOWN]]


def list_ranking(campaign: Campaign) -> list[RankedEntrant]:
    """Return the likeliest order as judged last, the best first; none for other questions."""
    if not campaign.ranking:
        return []
    agents = entrants_of(campaign.tournament)
    agents_by_id = _agents_by_id([agents[position] for position, _ in campaign.ranking])
    return [
        RankedEntrant(agents_by_id[agents[position]], chance)
        for position, chance in campaign.ranking
    ]


def list_subjects(campaign: Campaign) -> list[Agent]:
    """Return the agents that the verdict names, in its order; none without a verdict."""
    agents_by_id = _agents_by_id(campaign.subjects)
    return [agents_by_id[agent] for agent in campaign.subjects]


def list_likely_subjects(campaign: Campaign) -> list[Agent]:
    """Return the agents that the likeliest answer names, as judged last, in its order."""
    agents_by_id = _agents_by_id(campaign.likely_subjects)
    return [agents_by_id[agent] for agent in campaign.likely_subjects]


def list_upsets(campaign: Campaign) -> list[Upset]:
    """Return who beats whom that stands before it; none unless a ranking ended as no order."""
    if not campaign.upsets:
        return []
    agents_by_id = _agents_by_id(sorted({agent for pair in campaign.upsets for agent in pair}))
    return [Upset(agents_by_id[first], agents_by_id[second]) for first, second in campaign.upsets]


def sum_spent(campaign: Campaign) -> Spending:
    """Return what a campaign has cost so far."""
    tournament = campaign.tournament
    gpu_s = costs.measure_gpu_s(tournament) * (tournament.n_done - tournament.n_known)
    price = costs.price_seconds_played(tournament.played_s, gpu_s)
    return Spending(tournament.n_done, tournament.played_s, gpu_s, price)


def find_latest_point(campaign: Campaign) -> CampaignPoint | None:
    """Return what it said at its latest judgement, None before the first."""
    # Not the end of the curve: with matches that are struck the number of results falls.
    return campaign.points.filter(n_results=campaign.n_judged).first()


def read_pairs(campaign: Campaign) -> Pairs | None:
    """Return what the blocks of a sequential test say; None before its first, and of others."""
    counts = campaign.pairs or ()
    result = compare_blocks(counts) if counts else None
    return None if result is None else Pairs(blocks=tuple(counts), **vars(result))


def name_parameters(campaign: Campaign) -> dict[str, object]:
    """Return the parameters of the question, agents by name."""
    parameters: dict[str, object] = dict(campaign.parameters)
    positions = {name: campaign.parameters[name] for name in NAMED if name in parameters}
    if positions:
        agents = entrants_of(campaign.tournament)
        agents_by_id = _agents_by_id([agents[position] for position in positions.values()])
        parameters |= {
            name: agents_by_id[agents[position]].name for name, position in positions.items()
        }
    return parameters


def _agents_by_id(ids: Sequence[int]) -> dict[int, Agent]:
    return {agent.pk: agent for agent in Agent.objects.filter(pk__in=among(ids))}
