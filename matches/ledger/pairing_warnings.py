"""Warnings of a tournament: its pairing suits its field badly, or has too few matches."""

from collections.abc import Mapping, Sequence

from arena.games import registry as games
from arena.pairing import registry as pairings
from arena.pairing.base import AdaptivePairing, Field, Standing
from matches.ledger import adaptive_pairing
from matches.models import Leaderboard, Tournament
from matches.plans import TournamentPlan
from matches.ratings import entrants
from matches.ratings.evidence import gather_all_evidence
from matches.ratings.fitting import load_fit, load_sides
from matches.store.catalog import game_problem
from matches.store.fast_store import get_or_make

MOST_AGENTS = 200
"""Of more agents the ratings are not fitted for a page."""
EVERY_S = 60.0


def warn_of_pairing(tournament: Tournament) -> str | None:
    """Return the warning of its pairing while it runs: made once a minute for all who look."""
    is_over = tournament.state in Tournament.OVER
    if not _is_paired_by_results(tournament) or is_over:
        return None

    def find_warning() -> str | None:
        agents = entrants.entrants_of(tournament)
        if len(agents) > MOST_AGENTS:
            return None
        standing = entrants.load_standing(tournament, agents)
        return adaptive_pairing.configure_pairing(tournament).warning(standing)

    key, mark = f"warning.{tournament.pk}", str(tournament.n_done)
    return get_or_make(key, mark, find_warning, form=str | None, every_s=EVERY_S)


def is_campaign_over(tournament: Tournament) -> bool:
    """Say whether it had a campaign that is over, with which its rounds ended."""
    campaign = getattr(tournament, "campaign", None)
    return campaign is not None and campaign.decided_at is not None


def warn_of_budget(tournament: Tournament) -> str | None:
    """Return a warning when its matches are too few for its pairing, or were when it is done."""
    if not _is_paired_by_results(tournament) or tournament.state == Tournament.State.CANCELLED:
        return None
    if is_campaign_over(tournament):
        return None
    agents = entrants.entrants_of(tournament)
    if tournament.state != Tournament.State.DONE:
        warning = warn_of_length(
            adaptive_pairing.configure_pairing(tournament),
            tournament.n_matches,
            leaderboard=tournament.leaderboard,
            n_agents=len(agents),
        )
        return f"{warning}, so extend it" if warning else None
    pairing = adaptive_pairing.configure_pairing(tournament)
    if not pairing.goal or len(agents) > MOST_AGENTS:
        return None
    if pairing.is_over(entrants.load_standing(tournament, agents, needs_meetings=True)):
        return None
    budget = f"its budget of {tournament.n_matches:,} matches"
    return f"it was stopped by {budget} before {pairing.goal}: extend it"


def _is_paired_by_results(tournament: Tournament) -> bool:
    """Say whether its results choose who meets next: nobody does where the game's file is gone."""
    is_adaptive = tournament.pairing in pairings.adaptive_names()
    return is_adaptive and not game_problem(tournament.leaderboard.game)


def warn_of_plan(plan: TournamentPlan, *, leaderboard: Leaderboard, n_agents: int) -> str | None:
    """Return the warning of a plan whose matches may be too few, before it starts."""
    if plan.pairing not in pairings.adaptive_names():
        return None
    pairing = pairings.get_adaptive(plan.pairing).configured(plan.pairing_parameters)
    return warn_of_length(pairing, plan.n_matches, leaderboard=leaderboard, n_agents=n_agents)


def warn_of_length(
    pairing: AdaptivePairing, n_matches: int, *, leaderboard: Leaderboard, n_agents: int
) -> str | None:
    """Return a warning where so many matches cannot, or need not, bring a pairing to its goal."""
    spec = games.get(leaderboard.game).spec
    field = Field(n_agents, spec.n_seats, spec.team_size)
    least = pairing.least_blocks(field) * spec.n_seats
    # Not of the protocol: only where the length of meetings depends on who wins.
    most_blocks = getattr(pairing, "most_blocks", pairing.least_blocks)
    most = most_blocks(field) * spec.n_seats
    if n_matches >= most:
        return None
    may = "end" if n_matches < least else "may end"
    needs = f"{pairing.title} of {n_agents:,} agents needs {least:,} at least"
    full = f" and {most:,} where every meeting goes its full length" if most > least else ""
    return f"{n_matches:,} matches {may} it before {pairing.goal}: {needs}{full}"


def warn_before_start(
    pairing: str,
    parameters: Mapping[str, object],
    *,
    leaderboard: Leaderboard,
    agents: Sequence[int],
) -> str | None:
    """Return the warning of a pairing before a tournament with it starts, by what is known."""
    if pairing not in pairings.adaptive_names() or len(agents) > MOST_AGENTS:
        return None
    spec, counts = games.get(leaderboard.game).spec, gather_all_evidence(leaderboard, agents).counts
    fit = load_fit(leaderboard, agents, counts).settle()
    standing = Standing(
        field=Field(len(agents), spec.n_seats, spec.team_size),
        mu=fit.mu,
        covariance=fit.covariance,
        sd=fit.sd,
        spread=fit.spread,
        counts=counts,
        n_in_flight={},
        meetings=(),
        draw_probability=fit.draw_probability,
        sides=load_sides(leaderboard, agents) if spec.teams else None,
        seat_advantage=fit.seat.mu if fit.seat else 0.0,
    )
    return pairings.get_adaptive(pairing).configured(parameters).warning(standing)
