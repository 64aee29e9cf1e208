"""What the matches of a tournament cost: core-seconds, GPU-seconds, money, time on the clock."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from arena.verdicts.budget import Amounts, money
from matches import selectors
from matches.models import Agent, Campaign, Outcome, Tournament
from matches.models.choices import Placement

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
        price = None if core_s is None else money_of(core_s, gpu_s)
        return {"core_s": core_s, "gpu_s": gpu_s, "wall_s": wall_s, "money": price}


def money_of(core_s: float, gpu_s: float) -> float:
    """Return what so many seconds cost by the prices of the settings."""
    return money({"cpu": core_s, "gpu": gpu_s}, settings.WORKER_PRICES)


def spent(campaign: Campaign) -> Amounts:
    """Return what the matches of a campaign have cost so far."""
    tournament = campaign.tournament
    gpu_s = gpu_s_of(tournament) * tournament.n_done if settings.WORKER_PRICES["gpu"] else 0.0
    return Amounts(
        matches=tournament.n_done,
        core_seconds=tournament.played_s,
        money=money_of(tournament.played_s, gpu_s),
    )


def budget(campaign: Campaign) -> Amounts:
    """Return what a campaign may cost."""
    return Amounts(campaign.max_matches, campaign.max_core_s, campaign.max_money)


def per_match(tournament: Tournament, *, now: datetime) -> Cost:
    """Return what a match costs, by those that were played, at the pace of the nodes alive."""
    core_s = tournament.played_s / tournament.n_done if tournament.n_done else None
    n_slots = sum(node.slots for node in selectors.alive_workers(now=now))
    wall_s = None
    if tournament.n_done and tournament.started_at is not None:
        # As it went: one after the other on all slots, waiting included.
        wall_s = selectors.elapsed_s(tournament, now=now) / tournament.n_done
    elif core_s is not None and n_slots:
        wall_s = core_s / n_slots
    return Cost(core_s, gpu_s_of(tournament), wall_s)


def gpu_s_of(tournament: Tournament) -> float:
    """Return the GPU-seconds of a match: its steps, times what a row of its networks costs."""
    entered = Agent.objects.filter(tournaments=tournament)
    rows = entered.filter(placement=Placement.GPU)
    row_ms = [float(ms) for ms in rows.values_list("checkpoint__row_ms", flat=True) if ms]
    if not row_ms:
        return 0.0
    newest = Outcome.objects.filter(match__tournament=tournament).order_by("-match__sequence")
    moves = newest.values_list("actions", flat=True)[:N_MEASURED]
    n_steps = [len(actions.replace(",", " ").split()) for actions in moves]
    mean_steps = sum(n_steps) / len(n_steps) if n_steps else 0.0
    return mean_steps * sum(row_ms) / entered.count() / _MS
