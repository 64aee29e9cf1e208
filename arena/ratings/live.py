"""The live rating of a field: match by match, for any number of seats and teams."""

from collections.abc import Iterable, Sequence

from arena.ratings.base import DEFAULT, MIN_SEATS, Constants
from arena.ratings.freeforall import fold_ranked
from arena.ratings.trueskill import fold_results
from arena.teams import NO_TEAMS, Teams

Played = tuple[Sequence[int], Sequence[int]]
"""Agent indices by seat and their ranks."""


def fold_matches(
    mus: list[float],
    sigmas: list[float],
    matches: Iterable[Played],
    constants: Constants = DEFAULT,
    teams: Teams = NO_TEAMS,
) -> None:
    """Update mus and sigmas in place after each match, in the order given.

    teams: the team of each seat, the same in all matches; empty: each for itself.
    Folding in parts gives the same bits as at once. Raises RatingError; the lists then hold all
    earlier matches.
    """
    for lineup, ranks in matches:
        if len(lineup) == len(ranks) == MIN_SEATS:
            rank, other = ranks
            score = (rank < other) - (rank > other)
            fold_results(mus, sigmas, ((lineup[0], lineup[1], score),), constants)
        else:
            fold_ranked(mus, sigmas, (lineup, ranks), constants, teams)
