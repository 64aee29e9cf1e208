"""What a leaderboard says of the entrants of a campaign: how much, and what follows from it."""

from collections.abc import Sequence

from django.db.models import F, Sum

from arena.games import registry as games
from arena.ratings.counts import PairCounts
from arena.verdicts.beliefs import Belief, believed
from matches.models import Leaderboard, PairCount
from matches.services.campaigns import blocks
from matches.services.fitting import COUPLE, fit
from matches.services.rows import among


def n_known(leaderboard: Leaderboard, agents: Sequence[int]) -> int:
    """Return how many matches of these agents among each other count; in one sum."""
    met = PairCount.objects.filter(
        leaderboard=leaderboard, first__in=among(agents), second__in=among(agents)
    )
    each = F("n_first_wins") + F("n_draws") + F("n_second_wins")
    n_pairs = met.aggregate(n=Sum(each))["n"] or 0
    n_seats = games.get(leaderboard.game).spec.n_seats
    return int(n_pairs) // max(1, n_seats * (n_seats - 1) // 2)


def belief_of(leaderboard: Leaderboard, agents: Sequence[int], counts: PairCounts) -> Belief:
    """Return what is believed of these agents, by position.

    Blocks that vary more than the rating model expects hold less evidence than their games.
    """
    known = fit(leaderboard, agents, counts)
    if games.get(leaderboard.game).spec.n_seats == COUPLE:
        factor = blocks.dispersion_among(leaderboard, agents, known.mu)
        if factor > 1:
            known = fit(leaderboard, agents, counts, dispersion=factor)
    return believed(known, counts)
