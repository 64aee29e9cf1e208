"""What an adaptive pairing plays next, and how many matches it plans ahead of the results."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from arena.games import registry as games
from arena.pairing import registry as pairings
from arena.pairing.base import (
    AdaptivePairing,
    Field,
    Lineup,
    count_blocks,
    draw_lineups,
    naming_faults,
)
from arena.ratings.base import MU
from arena.seeding import derive
from matches.ledger import costs
from matches.models import Campaign, Rating, Tournament, Uncounted
from matches.ratings import closed_prefix
from matches.ratings.entrants import load_standing
from matches.ratings.score_choices import choose_episodes
from matches.store import selectors
from matches.store.bulk import among

LEAST_AHEAD, MOST_AHEAD = 16, 10_000
# To get the last orders of a field right, a quarter of the known results in flight costs a tenth
# more matches, an eighth 3 %: they are a race, decided match by match (docs/figures.md).
AHEAD_OF_KNOWN = 8
# Near the end of a budget in core-seconds or money, what is in flight is all that it pays for.
LEAST_PAID = 2
MOST_LATE = 3
REFILL = 4
"""What is missing is planned once it is a quarter of what may be in flight."""


@dataclass(frozen=True)
class Choice:
    """The next lineups, by position of the entrants; is_over: no result could lead to more."""

    lineups: Sequence[Lineup] = ()
    is_over: bool = False


def configure_pairing(tournament: Tournament) -> AdaptivePairing:
    """Return the pairing of a tournament under its parameters."""
    return pairings.get_adaptive(tournament.pairing).configured(tournament.pairing_parameters)


def choose_lineups(
    tournament: Tournament, agents: Sequence[int], *, n_left: int, now: datetime
) -> Choice:
    """Return what to plan now, at most n_left matches; nothing while enough is in flight."""
    campaign = Campaign.objects.filter(tournament=tournament).first()
    if campaign is not None and campaign.n_known and campaign.judged_at is None:
        return Choice()  # what is known from before may already give the verdict
    uncounted = Uncounted.objects.filter(
        leaderboard=tournament.leaderboard_id, is_counted=False, match__tournament=tournament
    )
    if tournament.n_known and uncounted.exists():
        return Choice()  # the results taken over from earlier tournaments are counted first
    pairing = configure_pairing(tournament)
    n_seats = games.get(tournament.leaderboard.game).spec.n_seats
    n_open = tournament.n_planned - tournament.n_closed
    n_missing = n_left
    if not pairing.needs_meetings:
        n_missing = _count_missing_matches(tournament, campaign, len(agents), now)
    if n_missing <= 0:
        return Choice()
    _note_seeding(tournament, agents)
    n_blocks = count_blocks(min(n_missing, n_left), n_seats)
    if campaign is not None and campaign.is_by_scores:
        return Choice(choose_episodes(campaign, agents, n_blocks))
    standing = load_standing(tournament, agents, needs_meetings=pairing.needs_meetings)
    # By the place in the plan: a planner that starts again there draws with the same seed.
    seed = derive("pairing", tournament.seed, tournament.n_planned)
    lineups = draw_lineups(
        tournament.pairing,
        Field(n_agents=len(agents), n_seats=n_seats),
        lambda: pairing.choose(standing, n_blocks, seed=seed),
    )
    with naming_faults(tournament.pairing):
        return Choice(lineups, pairing.is_over(standing) or not (lineups or n_open))


def shorten_tournament(tournament: Tournament) -> None:
    """End a tournament whose pairing is over with the matches that it has planned."""
    # Not one that was extended meanwhile: its pairing has more to play.
    unchanged = Tournament.objects.filter(pk=tournament.pk, n_matches=tournament.n_matches)
    if unchanged.update(n_matches=tournament.n_planned):
        tournament.n_matches = tournament.n_planned


def count_matches_ahead(n_agents: int, n_known: int, n_slots: int) -> int:
    """Return how many matches may be in flight without being chosen too early."""
    return min(MOST_AHEAD, max(LEAST_AHEAD, n_agents, n_slots, n_known // AHEAD_OF_KNOWN))


def _count_missing_matches(
    tournament: Tournament, campaign: Campaign | None, n_agents: int, now: datetime
) -> int:
    n_open = tournament.n_planned - tournament.n_closed
    n_slots = sum(node.slots for node in selectors.list_alive_workers(now=now))
    # Its own results only: those known before may be of others than the newcomers.
    limit = count_matches_ahead(n_agents, tournament.n_done, n_slots)
    if campaign is not None:
        limit = min(limit, max(LEAST_PAID, costs.count_affordable_matches(campaign, now=now) or 0))
        # What is over behind a slow match counts later: it may be as much as three times what is
        # in flight, so that slots have work meanwhile, and no more, as the plan may change.
        n_late = closed_prefix.count_beyond_prefix(tournament, most=MOST_LATE * limit)
        if n_late >= MOST_LATE * limit:
            return 0
    missing = limit - n_open
    return missing if missing * REFILL >= limit else 0


def _note_seeding(tournament: Tournament, agents: Sequence[int]) -> None:
    """Note once how the entrants stood at the start: brackets and groups go by it."""
    if tournament.seeding:
        return
    rated = Rating.objects.filter(leaderboard=tournament.leaderboard_id, agent__in=among(agents))
    mu = dict(rated.values_list("agent_id", "mu"))
    order = sorted(range(len(agents)), key=lambda position: -mu.get(agents[position], MU))
    # Of two planners one writes it: brackets must not be seeded anew by later ratings.
    if Tournament.objects.filter(pk=tournament.pk, seeding=[]).update(seeding=order):
        tournament.seeding = order
