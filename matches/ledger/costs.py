"""What the matches of a tournament cost: core-seconds, GPU-seconds, money, time on the clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import F, QuerySet, Sum

from arena.verdicts.budget import Amounts, count_matches_left, price_seconds
from matches.models import Agent, Campaign, Leaderboard, Outcome, Tournament
from matches.models.choices import Placement
from matches.ratings.entrants import entrants_of
from matches.store import selectors
from matches.store.bulk import among

N_MEASURED = 50
"""Outcomes whose number of steps is looked at."""
_MS = 1_000


@dataclass(frozen=True)
class Cost:
    """What one match costs, as measured; None while nothing is known."""

    core_s: float | None
    gpu_s: float
    wall_s: float | None

    def of(self, n_matches: float) -> dict[str, float | None]:
        """Return core-seconds, GPU-seconds, seconds on the clock and money of so many."""
        core_s = None if self.core_s is None else self.core_s * n_matches
        wall_s = None if self.wall_s is None else self.wall_s * n_matches
        gpu_s = self.gpu_s * n_matches
        price = None if core_s is None else price_seconds_played(core_s, gpu_s)
        return {"core_s": core_s, "gpu_s": gpu_s, "wall_s": wall_s, "money": price}

    @property
    def amounts(self) -> Amounts:
        """What counts against a budget of one match."""
        price = None if self.core_s is None else price_seconds_played(self.core_s, self.gpu_s)
        return Amounts(1, self.core_s, price)


def price_seconds_played(core_s: float, gpu_s: float) -> float:
    """Return what so many seconds cost by the prices of the settings."""
    return price_seconds({"cpu": core_s, "gpu": gpu_s}, settings.WORKER_PRICES)


def sum_spent(campaign: Campaign) -> Amounts:
    """Return what the matches of a campaign have cost so far."""
    tournament = campaign.tournament
    n_played = tournament.n_done - tournament.n_known
    # Only where it costs money: measuring reads outcomes.
    gpu_s = measure_gpu_s(tournament) * n_played if settings.WORKER_PRICES["gpu"] else 0.0
    return Amounts(
        matches=tournament.n_done,
        core_seconds=tournament.played_s,
        money=price_seconds_played(tournament.played_s, gpu_s),
    )


def read_budget(campaign: Campaign) -> Amounts:
    """Return what a campaign may cost."""
    return Amounts(campaign.max_matches, campaign.max_core_s, campaign.max_money)


def count_affordable_matches(campaign: Campaign, *, now: datetime) -> int | None:
    """Return how many more matches the budget pays for, by what they cost so far."""
    match_cost = measure_match_cost(campaign.tournament, now=now)
    return count_matches_left(read_budget(campaign), sum_spent(campaign), match_cost.amounts)


def measure_match_cost(tournament: Tournament, *, now: datetime) -> Cost:
    """Return what a match costs, measured by those that were played.

    Before the first one: by what else the leaderboard or the game has played.
    """
    n_played = tournament.n_done - tournament.n_known
    if n_played <= 0 or tournament.started_at is None:
        return estimate_match_cost(tournament.leaderboard, entrants_of(tournament), now=now)
    # As it went: one after the other on all slots, waiting included.
    wall_s = selectors.compute_elapsed_s(tournament, now=now) / n_played
    return Cost(tournament.played_s / n_played, measure_gpu_s(tournament), wall_s)


def estimate_match_cost(leaderboard: Leaderboard, agents: Sequence[int], *, now: datetime) -> Cost:
    """Return what a match of these agents may cost, by earlier matches of the game."""
    played = Tournament.objects.filter(n_done__gt=0)
    core_s = _measure_mean_s(played.filter(leaderboard=leaderboard))
    # Other leaderboards of the game have other rules or agents, but are better than nothing.
    if core_s is None:
        core_s = _measure_mean_s(played.filter(leaderboard__game=leaderboard.game))
    n_slots = sum(node.slots for node in selectors.list_alive_workers(now=now))
    wall_s = core_s / n_slots if core_s is not None and n_slots else None
    newest = Outcome.objects.filter(match__leaderboard=leaderboard)
    return Cost(core_s, _compute_gpu_s(Agent.objects.filter(pk__in=among(agents)), newest), wall_s)


def measure_gpu_s(tournament: Tournament) -> float:
    """Return the GPU-seconds of a match: its steps times the cost of a row in its networks."""
    newest = Outcome.objects.filter(match__tournament=tournament)
    return _compute_gpu_s(Agent.objects.filter(tournaments=tournament), newest)


def _measure_mean_s(played: QuerySet[Tournament]) -> float | None:
    # What was taken over from earlier tournaments took no time.
    n_played = F("n_done") - F("n_known")
    total = played.aggregate(played_s=Sum("played_s"), n_played=Sum(n_played))
    return total["played_s"] / total["n_played"] if total["n_played"] else None


def _compute_gpu_s(entered: QuerySet[Agent], outcomes: QuerySet[Outcome]) -> float:
    rows = entered.filter(placement=Placement.GPU)
    row_ms = [float(ms) for ms in rows.values_list("checkpoint__row_ms", flat=True) if ms]
    if not row_ms:
        return 0.0
    newest = outcomes.order_by("-match__sequence")
    moves = newest.values_list("actions", flat=True)[:N_MEASURED]
    n_steps = [len(actions.replace(",", " ").split()) for actions in moves]
    mean_steps = sum(n_steps) / len(n_steps) if n_steps else 0.0
    return mean_steps * sum(row_ms) / entered.count() / _MS
