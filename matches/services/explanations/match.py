"""Why a match stands where it stands."""

from datetime import datetime

from matches.models import Match
from matches.services.explanations.form import Explanation


def of_match(match: Match, *, now: datetime) -> Explanation:
    """Return the explanation of a match."""
    return Explanation("match", match.pk, str(match), "", None, None, "", (), "", None, ())
