"""The live rating of a field: match by match, for any number of seats and teams, tau 0.

Two seats go by the closed form of arena.ratings.trueskill. For more, TrueSkill passes messages.
The trueskill package passes the messages; its v and w are ours, from the standard library's erfc.
That is as fast as the package's own pure-Python backend, as exact as its mpmath backend, and does
not fail at large gaps.
"""

from collections.abc import Iterable, Sequence
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
from arena.ratings.trueskill import fold_results
from arena.ratings.truncated_normal import draw_moments, win_moments
from arena.teams import NO_TEAMS, Teams, group_by_team

# Agent indices by seat and their ranks.
Played = tuple[Sequence[int], Sequence[int]]


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
    # Where each plays for itself a seat is a team of one, so that one way serves both.
    team_of = teams or tuple(range(len(ratings)))
    negated = group_by_team(team_of, [(-mu, sigma) for mu, sigma in ratings])
    sides = [
        (shared[0], tuple(sorted(mates)))
        for shared, mates in zip(group_by_team(team_of, ranks), negated, strict=True)
    ]
    if constants.draw_margin == 0 and len({rank for rank, _ in sides}) < len(sides):
        raise DrawWithoutDrawProbabilityError
    after = _rate_sides(sides, constants)
    by_seat = zip(ratings, ranks, team_of, strict=True)
    return [after[sides[team]][rating] for rating, _, team in by_seat]


# Rank, and (-mu, sigma) of each mate, sorted: the better stand first.
RankedSide = tuple[int, tuple[tuple[float, float], ...]]


def _rate_sides(
    sides: Sequence[RankedSide], constants: Constants
) -> dict[RankedSide, dict[tuple[float, float], tuple[float, float]]]:
    """Return what becomes of each rating of each side; of what is equal, the same."""
    # An order that the sides themselves give: the package compares neighbours only.
    standing = sorted(sides)
    model = _make_model(constants)
    groups = [tuple(model.create_rating(-m, sigma) for m, sigma in mates) for _, mates in standing]
    rated = model.rate(groups, [rank for rank, _ in standing])
    after: dict[RankedSide, dict[tuple[float, float], list[tuple[float, float]]]] = {}
    for side, group in zip(standing, rated, strict=True):
        after_side = after.setdefault(side, {})
        for (minus_mu, sigma), rating in zip(side[1], group, strict=True):
            shares = after_side.setdefault((-minus_mu, sigma), [])
            shares.append((float(rating.mu), float(rating.sigma)))
    return {
        side: {
            # Of seats that were equal before and drew: the same for each, by mean and mean square.
            before: (
                fmean(mu for mu, _ in shares),
                sqrt(fmean(sigma * sigma for _, sigma in shares)),
            )
            if len(shares) > 1
            else shares[0]
            for before, shares in after_side.items()
        }
        for side, after_side in after.items()
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
    # All before any is written: a match that is refused changes nothing.
    before = [(mus[agent], sigmas[agent]) for agent in lineup]
    after = update_ranked(before, ranks, constants, teams)
    for agent, (mu, sigma) in zip(lineup, after, strict=True):
        mus[agent], sigmas[agent] = mu, sigma


# One for each draw probability in use: a model is made of a backend and of functions of its own.
@cache
def _make_model(constants: Constants) -> Any:
    normal = NormalDist()
    model = trueskill.TrueSkill(
        beta=constants.beta,
        tau=0.0,
        draw_probability=constants.draw_probability,
        backend=(normal.cdf, normal.pdf, normal.inv_cdf),
    )
    # The package passes the lead t and the margin e.
    model.v_win = lambda t, e: win_moments(t - e)[0]
    model.w_win = lambda t, e: win_moments(t - e)[1]
    model.v_draw = lambda t, e: draw_moments(t, e)[0]
    model.w_draw = lambda t, e: draw_moments(t, e)[1]
    return model
