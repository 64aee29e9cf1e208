"""What follows from the evidence on the entrants of a campaign."""

from collections.abc import Sequence

from arena.games import registry as games
from arena.ratings.counts import PairCounts
from arena.verdicts.beliefs import Belief, form_belief
from matches.campaigns import dispersion, paired_blocks
from matches.models import Campaign, Leaderboard
from matches.ratings.closed_prefix import NOTHING_LATE, Late, late_results
from matches.ratings.entrants import entrants_of
from matches.ratings.evidence import boards_of, evidence
from matches.ratings.fitting import COUPLE, fit


def belief_of(
    leaderboard: Leaderboard,
    agents: Sequence[int],
    counts: PairCounts,
    *,
    late: Late = NOTHING_LATE,
) -> Belief:
    """Return what is believed of these agents, by position.

    Blocks that vary more than the rating model expects hold less evidence than their games. late:
    results that the counts do not have.
    """
    spec, late_sides = games.get(leaderboard.game).spec, late.sides_on(leaderboard)
    known = fit(leaderboard, agents, counts, late_sides=late_sides)
    factor = 1.0
    if spec.n_seats == COUPLE:
        factor = paired_blocks.dispersion_among(leaderboard, agents, known.mu, late=late.matches)
    elif spec.teams:
        factor = dispersion.dispersion_among(leaderboard, agents, known.mu, late=late.matches)
    if factor > 1:
        known = fit(leaderboard, agents, counts, dispersion=factor, late_sides=late_sides)
    return form_belief(known, counts, n_opponents=max(1, spec.n_seats - spec.team_size))


def belief_about(campaign: Campaign) -> Belief:
    """Return what is believed of the entrants of a campaign now: what its verdict goes by."""
    board, agents = campaign.tournament.leaderboard, entrants_of(campaign.tournament)
    boards = boards_of(board, agents)
    late = late_results(boards, agents, own=campaign.tournament)
    counts = evidence(board, agents, boards=boards, late=late.tallies)
    return belief_of(board, agents, counts, late=late)
