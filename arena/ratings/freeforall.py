"""The live rating of matches with three or more seats: TrueSkill's message passing, tau 0.

The trueskill package passes the messages; its v and w are ours, from the standard library's erfc.
That is as fast as the package's own pure-Python backend, as exact as its mpmath backend, and does
not fail at large gaps.
"""

from collections.abc import Sequence
from functools import cache
from math import erfc, exp, pi, sqrt
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
)
from arena.ratings.truncated import SQRT_HALF, draw, win


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


def _shared(ratings: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the rating of each of several seats that were equal before and drew."""
    if len(ratings) == 1:
        return ratings[0]
    return fmean(mu for mu, _ in ratings), sqrt(fmean(sigma * sigma for _, sigma in ratings))


@cache
def _model(constants: Constants) -> Any:
    model = trueskill.TrueSkill(
        beta=constants.beta,
        tau=0.0,
        draw_probability=constants.draw_probability,
        backend=(_cdf, _pdf, NormalDist().inv_cdf),
    )
    model.v_win = lambda t, e: win(t - e)[0]
    model.w_win = lambda t, e: win(t - e)[1]
    model.v_draw = lambda t, e: draw(t, e)[0]
    model.w_draw = lambda t, e: draw(t, e)[1]
    return model


def _cdf(x: float) -> float:
    return erfc(-SQRT_HALF * x) / 2


def _pdf(x: float) -> float:
    return exp(-x * x / 2) / sqrt(2 * pi)


class _System:
    id: Final = "freeforall"
    title: Final = "TrueSkill, any number of agents, in the order of the results"

    def rate(self, n_agents: int, results: Sequence[Result]) -> list[Rating]:
        ratings = [Rating(MU, SIGMA)] * n_agents
        for result in results:
            before = [ratings[agent] for agent in result.lineup]
            after = update_ranked(before, result.ranks)
            for agent, (mu, sigma) in zip(result.lineup, after, strict=True):
                ratings[agent] = Rating(mu, sigma)
        return ratings


SYSTEM = _System()
