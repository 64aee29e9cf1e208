"""The live rating of matches with three or more seats or teams: TrueSkill's messages, tau 0.

The trueskill package passes the messages; its v and w are ours, from the standard library's erfc.
That is as fast as the package's own pure-Python backend, as exact as its mpmath backend, and does
not fail at large gaps.
"""

from collections.abc import Sequence
from functools import cache
from math import sqrt
from statistics import NormalDist, fmean
from typing import Any

import trueskill

from arena.ratings.base import (
    DEFAULT,
    MIN_SEATS,
    Constants,
    DrawWithoutDrawProbabilityError,
    RatingError,
    check_lineup,
)
from arena.ratings.teamcounts import check_team_ranks
from arena.ratings.truncated_normal import draw_moments, win_moments
from arena.teams import NO_TEAMS, Teams, group_by_team


def update_ranked(
    ratings: Sequence[tuple[float, float]],
    ranks: Sequence[int],
    constants: Constants = DEFAULT,
    teams: Teams = NO_TEAMS,
) -> list[tuple[float, float]]:
    """Return the (mu, sigma) of each seat after one match; rank 0 is the best, equal ranks draw.

    teams: the team of each seat; mates share a rank, and what they perform is summed. The package
    compares neighbours only, so the order of those that drew matters to it; here they stand in the
    order of their ratings, and equals share alike, so that seats play no part. Raises RatingError
    and DrawWithoutDrawProbabilityError.
    """
    if len(ratings) != len(ranks) or len(ratings) < MIN_SEATS:
        raise RatingError(f"two or more seats need a rank each, got {len(ratings)} and {ranks}")
    if teams:
        check_team_ranks(ranks, teams)
    sides = _make_sides(ratings, ranks, teams or tuple(range(len(ratings))))
    if constants.draw_margin == 0 and len({rank for rank, _ in sides}) < len(sides):
        raise DrawWithoutDrawProbabilityError
    after = _rate_sides(sides, constants)
    by_seat = zip(ratings, ranks, teams or range(len(ratings)), strict=True)
    return [after[sides[team]][rating] for rating, _, team in by_seat]


RankedSide = tuple[int, tuple[tuple[float, float], ...]]
"""Rank, and (-mu, sigma) of each mate, sorted: the better stand first."""


def _make_sides(
    ratings: Sequence[tuple[float, float]], ranks: Sequence[int], teams: Teams
) -> list[RankedSide]:
    """Return the side of each team."""
    turned = group_by_team(teams, [(-mu, sigma) for mu, sigma in ratings])
    return [
        (shared[0], tuple(sorted(mates)))
        for shared, mates in zip(group_by_team(teams, ranks), turned, strict=True)
    ]


def _rate_sides(
    sides: Sequence[RankedSide], constants: Constants
) -> dict[RankedSide, dict[tuple[float, float], tuple[float, float]]]:
    """Return what becomes of each rating of each side; of what is equal, the same."""
    standing = sorted(sides)
    model = _make_model(constants)
    groups = [tuple(model.create_rating(-m, sigma) for m, sigma in mates) for _, mates in standing]
    rated = model.rate(groups, [rank for rank, _ in standing])
    after: dict[RankedSide, dict[tuple[float, float], list[tuple[float, float]]]] = {}
    for side, group in zip(standing, rated, strict=True):
        found = after.setdefault(side, {})
        for (minus_mu, sigma), rating in zip(side[1], group, strict=True):
            shares = found.setdefault((-minus_mu, sigma), [])
            shares.append((float(rating.mu), float(rating.sigma)))
    return {
        side: {before: _share_rating(shares) for before, shares in found.items()}
        for side, found in after.items()
    }


def fold_ranked(
    mus: list[float],
    sigmas: list[float],
    match: tuple[Sequence[int], Sequence[int]],
    constants: Constants = DEFAULT,
    teams: Teams = NO_TEAMS,
) -> None:
    """Update mus and sigmas in place after one match: its agents by seat, and their ranks.

    Raises RatingError and changes nothing.
    """
    lineup, ranks = match
    check_lineup(lineup, ranks, len(mus))
    before = [(mus[agent], sigmas[agent]) for agent in lineup]
    after = update_ranked(before, ranks, constants, teams)
    for agent, (mu, sigma) in zip(lineup, after, strict=True):
        mus[agent], sigmas[agent] = mu, sigma


def _share_rating(ratings: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the rating of each of several seats that were equal before and drew."""
    if len(ratings) == 1:
        return ratings[0]
    return fmean(mu for mu, _ in ratings), sqrt(fmean(sigma * sigma for _, sigma in ratings))


@cache
def _make_model(constants: Constants) -> Any:
    normal = NormalDist()
    model = trueskill.TrueSkill(
        beta=constants.beta,
        tau=0.0,
        draw_probability=constants.draw_probability,
        backend=(normal.cdf, normal.pdf, normal.inv_cdf),
    )
    model.v_win = lambda t, e: win_moments(t - e)[0]
    model.w_win = lambda t, e: win_moments(t - e)[1]
    model.v_draw = lambda t, e: draw_moments(t, e)[0]
    model.w_draw = lambda t, e: draw_moments(t, e)[1]
    return model
