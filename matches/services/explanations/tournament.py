"""Why a tournament stands where it stands."""

from datetime import datetime

from matches.models import Tournament
from matches.services.explanations.form import Explanation


def of_tournament(tournament: Tournament, *, now: datetime) -> Explanation:
    """Return the explanation of a tournament."""
    return Explanation(
        "tournament", tournament.pk, str(tournament), "", None, None, "", (), "", None, ()
    )
