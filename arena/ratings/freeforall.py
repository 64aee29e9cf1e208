"""The live rating of matches with three or more seats: TrueSkill's message passing, tau 0.

The trueskill package passes the messages; its v and w are ours, from the standard library's erfc.
That is as fast as the package's own pure-Python backend, as exact as its mpmath backend, and does
not fail at large gaps.
"""

from collections.abc import Sequence
from functools import cache
from math import sqrt
from statistics import NormalDist, fmean
from typing import Any, Final

import trueskill

from arena.ratings.base import (
    DEFAULT,
    MIN_SEATS,
    MU,
    SIGMA,
    Constants,
    DrawWithoutDrawProbabilityError,
    Rating,
    RatingError,
    Result,
    check_lineup,
)
from arena.ratings.truncated import draw, win


def update_ranked(
    ratings: Sequence[tuple[float, float]], ranks: Sequence[int], constants: Constants = DEFAULT
) -> list[tuple[float, float]]:
    """Return the (mu, sigma) of each seat after one match; rank 0 is the best, equal ranks draw.

    The package compares neighbours only, so the order of those that drew matters to it; here they
    stand in the order of their ratings, and equals share alike, so that seats play no part. Raises
    RatingError and DrawWithoutDrawProbabilityError.
    """
    if len(ratings) != len(ranks) or len(ratings) < MIN_SEATS:
        raise RatingError(f"two or more seats need a rank each, got {len(ratings)} and {ranks}")
    if constants.draw_margin == 0 and len(set(ranks)) < len(ranks):
        raise DrawWithoutDrawProbabilityError
    seats = [(rank, -mu, sigma) for rank, (mu, sigma) in zip(ranks, ratings, strict=True)]
    standing = sorted(seats)
    model = _model(constants)
    groups = [(model.create_rating(-minus_mu, sigma),) for _, minus_mu, sigma in standing]
    rated = model.rate(groups, [rank for rank, _, _ in standing])
    after: dict[tuple[int, float, float], list[tuple[float, float]]] = {seat: [] for seat in seats}
    for seat, (rating,) in zip(standing, rated, strict=True):
        after[seat].append((float(rating.mu), float(rating.sigma)))
    return [_shared(after[seat]) for seat in seats]


def fold_ranked(
    mus: list[float],
    sigmas: list[float],
    lineup: Sequence[int],
    ranks: Sequence[int],
    constants: Constants = DEFAULT,
) -> None:
    """Update mus and sigmas in place after one match. Raises RatingError and changes nothing."""
    check_lineup(lineup, ranks, len(mus))
    before = [(mus[agent], sigmas[agent]) for agent in lineup]
    after = update_ranked(before, ranks, constants)
    for agent, (mu, sigma) in zip(lineup, after, strict=True):
        mus[agent], sigmas[agent] = mu, sigma


def _shared(ratings: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the rating of each of several seats that were equal before and drew."""
    if len(ratings) == 1:
        return ratings[0]
    return fmean(mu for mu, _ in ratings), sqrt(fmean(sigma * sigma for _, sigma in ratings))


@cache
def _model(constants: Constants) -> Any:
    normal = NormalDist()
    model = trueskill.TrueSkill(
        beta=constants.beta,
        tau=0.0,
        draw_probability=constants.draw_probability,
        backend=(normal.cdf, normal.pdf, normal.inv_cdf),
    )
    model.v_win = lambda t, e: win(t - e)[0]
    model.w_win = lambda t, e: win(t - e)[1]
    model.v_draw = lambda t, e: draw(t, e)[0]
    model.w_draw = lambda t, e: draw(t, e)[1]
    return model


class _System:
    id: Final = "freeforall"
    title: Final = "TrueSkill, any number of agents, in the order of the results"

    def rate(self, n_agents: int, results: Sequence[Result]) -> list[Rating]:
        mus, sigmas = [MU] * n_agents, [SIGMA] * n_agents
        for result in results:
            fold_ranked(mus, sigmas, result.lineup, result.ranks)
        return [Rating(mu, sigma) for mu, sigma in zip(mus, sigmas, strict=True)]


SYSTEM = _System()
