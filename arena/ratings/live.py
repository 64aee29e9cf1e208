"""The live rating of a field: match by match, for any number of seats."""

from collections.abc import Iterable, Sequence

from arena.ratings.base import DEFAULT, Constants, pairwise
from arena.ratings.freeforall import update_ranked
from arena.ratings.trueskill import fold

Played = tuple[Sequence[int], Sequence[int]]
"""Agent indices by seat and their ranks."""


def fold_matches(
    mus: list[float],
    sigmas: list[float],
    matches: Iterable[Played],
    constants: Constants = DEFAULT,
) -> None:
    """Update mus and sigmas in place after each match, in the order given. Raises RatingError."""
    for lineup, ranks in matches:
        if len(lineup) == 2:  # noqa: PLR2004 - two seats have a closed form
            fold(mus, sigmas, pairwise(lineup, ranks), constants)
        else:
            _fold_ranked(mus, sigmas, lineup, ranks, constants)


def _fold_ranked(
    mus: list[float],
    sigmas: list[float],
    lineup: Sequence[int],
    ranks: Sequence[int],
    constants: Constants,
) -> None:
    before = [(mus[agent], sigmas[agent]) for agent in lineup]
    after = update_ranked(before, list(ranks), constants)
    for agent, (mu, sigma) in zip(lineup, after, strict=True):
        mus[agent], sigmas[agent] = mu, sigma
