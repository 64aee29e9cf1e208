"""The live rating: TrueSkill for two agents in closed form, result by result, tau 0.

The same numbers as the trueskill package on its mpmath backend (to 1e-9), some hundred times faster
and without its failures at large gaps.
"""

from collections.abc import Iterable
from math import sqrt

from arena.ratings.base import (
    DEFAULT,
    Constants,
    DrawWithoutDrawProbabilityError,
    ScoreError,
    SelfPlayError,
    UnknownAgentError,
)
from arena.ratings.truncated_normal import draw_moments, win_moments


def update_pair(
    mu_1: float,
    sigma_1: float,
    mu_2: float,
    sigma_2: float,
    score: int,
    constants: Constants = DEFAULT,
) -> tuple[float, float, float, float]:
    """Return (mu_1, sigma_1, mu_2, sigma_2) after one match; score 1 first wins, 0 draw, -1.

    Raises ScoreError and DrawWithoutDrawProbabilityError.
    """
    # Plain floats: an array of two costs more than the arithmetic on it.
    variance_1, variance_2 = sigma_1 * sigma_1, sigma_2 * sigma_2
    total = variance_1 + variance_2 + constants.performance_variance
    c = sqrt(total)
    if score == 1:
        v, w = win_moments((mu_1 - mu_2 - constants.draw_margin) / c)
    elif score == -1:
        v, w = win_moments((mu_2 - mu_1 - constants.draw_margin) / c)
        v = -v
    elif score == 0:
        if constants.draw_margin == 0:
            raise DrawWithoutDrawProbabilityError
        v, w = draw_moments((mu_1 - mu_2) / c, constants.draw_margin / c)
    else:
        raise ScoreError(score)
    # v and w are of the standardised difference: back to the scale of the ratings.
    v /= c
    w /= total
    return (
        mu_1 + variance_1 * v,
        sigma_1 * sqrt(1 - variance_1 * w),
        mu_2 - variance_2 * v,
        sigma_2 * sqrt(1 - variance_2 * w),
    )


def fold_results(
    mus: list[float],
    sigmas: list[float],
    results: Iterable[tuple[int, int, int]],
    constants: Constants = DEFAULT,
) -> None:
    """Update mus and sigmas in place by (first, second, score) after (first, second, score).

    Only what the lists hold is carried from one result to the next, so folding in parts gives the
    same bits as folding at once. Raises RatingError; the lists then hold all earlier results.
    """
    # Each result is checked before it is folded, so that a refused one changes nothing.
    n_agents = len(mus)
    for first, second, score in results:
        if first == second:
            raise SelfPlayError(first)
        if not (0 <= first < n_agents and 0 <= second < n_agents):
            raise UnknownAgentError(second if 0 <= first < n_agents else first, n_agents)
        mus[first], sigmas[first], mus[second], sigmas[second] = update_pair(
            mus[first], sigmas[first], mus[second], sigmas[second], score, constants
        )
