"""What follows from the evidence on the entrants of a campaign."""

from collections.abc import Sequence

from arena.games import registry as games
from arena.ratings.counts import PairCounts
from arena.verdicts.beliefs import Belief, believed
from matches.models import Leaderboard
from matches.services.campaigns import blocks, sideblocks
from matches.services.fitting import COUPLE, fit


def belief_of(leaderboard: Leaderboard, agents: Sequence[int], counts: PairCounts) -> Belief:
    """Return what is believed of these agents, by position.

    Blocks that vary more than the rating model expects hold less evidence than their games.
    """
    known, spec = fit(leaderboard, agents, counts), games.get(leaderboard.game).spec
    factor = 1.0
    if spec.n_seats == COUPLE:
        factor = blocks.dispersion_among(leaderboard, agents, known.mu)
    elif spec.teams:
        factor = sideblocks.dispersion_among(leaderboard, agents, known.mu)
    if factor > 1:
        known = fit(leaderboard, agents, counts, dispersion=factor)
    return believed(known, counts, n_opponents=max(1, spec.n_seats - spec.team_size))
