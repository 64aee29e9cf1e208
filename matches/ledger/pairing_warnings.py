"""Warnings of a tournament: its pairing suits its field badly, or has too few matches."""

from collections.abc import Mapping, Sequence

from arena.games import registry as games
from arena.pairing import registry as pairings
from arena.pairing.base import Field, Standing
from matches.ledger import adaptive_pairing
from matches.models import Leaderboard, Tournament
from matches.ratings import entrants
from matches.ratings.evidence import gather_all_evidence
from matches.ratings.fitting import fit_ratings, load_sides
from matches.store.fast_store import get_or_make

MOST_AGENTS = 200
"""Of more agents the ratings are not fitted for a page."""
EVERY_S = 60.0


def warn_of_pairing(tournament: Tournament) -> str | None:
    """Return the warning of its pairing while it runs: made once a minute for all who look."""
    is_over = tournament.state in Tournament.OVER
    if tournament.pairing not in pairings.adaptive_names() or is_over:
        return None

    def find_warning() -> str | None:
        agents = entrants.entrants_of(tournament)
        if len(agents) > MOST_AGENTS:
            return None
        standing = entrants.load_standing(tournament, agents)
        return adaptive_pairing.configure_pairing(tournament).warning(standing)

    key, mark = f"warning.{tournament.pk}", str(tournament.n_done)
    return get_or_make(key, mark, find_warning, form=str | None, every_s=EVERY_S)


def warn_of_budget(tournament: Tournament) -> str | None:
    """Return a warning when its matches are too few for its pairing, or were when it is done."""
    if tournament.pairing not in pairings.adaptive_names():
        return None
    pairing = adaptive_pairing.configure_pairing(tournament)
    spec = games.get(tournament.leaderboard.game).spec
    agents = entrants.entrants_of(tournament)
    least = pairing.least_blocks(Field(len(agents), spec.n_seats, spec.team_size)) * spec.n_seats
    if not least or tournament.state == Tournament.State.CANCELLED:
        return None
    if tournament.state != Tournament.State.DONE:
        if tournament.n_matches >= least:
            return None
        return (
            f"{tournament.n_matches:,} matches end it before {pairing.goal}: {pairing.title} of "
            f"{len(agents):,} agents needs {least:,} at least, so extend it"
        )
    if len(agents) > MOST_AGENTS or pairing.is_over(
        entrants.load_standing(tournament, agents, needs_meetings=True)
    ):
        return None
    budget = f"its budget of {tournament.n_matches:,} matches"
    return f"it was stopped by {budget} before {pairing.goal}: extend it"


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
    fit = fit_ratings(leaderboard, agents, counts)
    standing = Standing(
        field=Field(len(agents), spec.n_seats, spec.team_size),
        mu=fit.mu,
        covariance=fit.covariance,
        sd=fit.sd,
        spread=fit.spread,
        counts=counts,
        n_in_flight={},
        meetings=(),
        draw_probability=leaderboard.draw_probability,
        sides=load_sides(leaderboard, agents) if spec.teams else None,
    )
    return pairings.get_adaptive(pairing).configured(parameters).warning(standing)
