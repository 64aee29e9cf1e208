"""How much of a tournament is known already, before it is scheduled."""

from collections.abc import Sequence
from itertools import islice

from arena.pairing import registry as pairings
from matches.ledger import planning, reuse
from matches.ledger.reuse import MatchIdentity
from matches.ledger.tournaments import build_row, check_field
from matches.models import Agent, Leaderboard
from matches.models.match import join_numbers
from matches.plans import TournamentPlan
from matches.store.bulk import split_batches

MOST_LOOKED_AT = 2_000
"""Matches of a plan that are looked up, the first: a form waits for it."""


def count_known_ahead(
    plan: TournamentPlan, *, leaderboard: Leaderboard, agents: Sequence[Agent]
) -> int:
    """Return how many of the first matches of a plan are known games, which are not played again.

    Of a pairing that adapts none: whom it chooses follows from results to come. Raises
    BadInputError for a plan that cannot be paired.
    """
    check_field(plan, leaderboard, len(agents))
    plays_all = plan.replays or plan.keeps_trajectories
    if plays_all or plan.pairing in pairings.adaptive_names():
        return 0
    draft, entered = build_row(plan, leaderboard), [agent.pk for agent in agents]
    twins = reuse.find_twins(draft, entered)
    if not twins:
        return 0
    n_known, matches = 0, planning.draw_matches(draft, len(entered))
    for batch in split_batches(islice(matches, MOST_LOOKED_AT), planning.SLICE):
        places = [
            MatchIdentity(
                planned.block,
                planned.game_seed,
                join_numbers([entered[index] for index in planned.seats]),
            )
            for planned in batch
        ]
        n_known += len(reuse.find_known_matches(leaderboard, twins, places))
    return n_known
