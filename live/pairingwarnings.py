"""What a reader of a tournament should know: a pairing that suits its field badly."""

from arena.pairing import registry as pairings
from matches.kept import kept
from matches.models import Tournament
from matches.services import adapting, standing

MOST_AGENTS = 200
"""Of more agents the ratings are not fitted for a page."""
EVERY_S = 60.0


def of_pairing(tournament: Tournament) -> str | None:
    """Return the warning of its pairing while it runs: made once a minute for all who look."""
    is_over = tournament.state in (Tournament.State.DONE, Tournament.State.CANCELLED)
    if tournament.pairing not in pairings.adaptive_names() or is_over:
        return None
    key = f"warning.{tournament.pk}"
    return kept(key, str(tournament.n_done), lambda: _found(tournament), every_s=EVERY_S)


def _found(tournament: Tournament) -> str | None:
    agents = standing.entrants_of(tournament)
    if len(agents) > MOST_AGENTS:
        return None
    return adapting.configured(tournament).warning(standing.standing(tournament, agents))
