"""The draw margin that explains how often matches are drawn, given the skills.

The chance of a draw is that of a difference within the margin, log-concave in skills and margin
together (Prekopa 1973): so fitting the two in turn climbs to the one mode that they have.
"""

from math import log, log1p, pi, sqrt

import numpy as np
from scipy.special import erfcx

from arena.ratings.counts import Floats
from arena.ratings.likelihood import win_terms

PRIOR_MATCHES = 4.0
"""What is thought of the game weighs as much as so many matches of two equal agents."""
LEAST_MARGIN, MOST_MARGIN = 1e-6, 4.0
"""What a fit may come to."""
_SQRT_HALF, _SQRT_2_OVER_PI = sqrt(0.5), sqrt(2 / pi)
_TOLERANCE = 1e-6
_MAX_STEPS = 60


def fit_margin(lead: Floats, n_decided: int, times: Floats, *, start: float, prior: float) -> float:
    """Return the margin, in standard deviations of a match, of the highest posterior density.

    lead: float64 [m], the winner's in the first n_decided rows, of draws that of either. times:
    float64 [m], how often each occurred. start: a first guess. prior: the margin of the game, above
    0.
    """
    # The prior is two rows more: matches of equal agents, decided and drawn as the game's are.
    p_draw = float(1 - 2 * _find_tail(prior))
    leads = np.concatenate([lead[:n_decided], [0.0], lead[n_decided:], [0.0]])
    weights = np.concatenate(
        [
            times[:n_decided],
            [PRIOR_MATCHES * (1 - p_draw)],
            times[n_decided:],
            [PRIOR_MATCHES * p_draw],
        ]
    )
    low, high, margin = LEAST_MARGIN, MOST_MARGIN, min(max(start, LEAST_MARGIN), MOST_MARGIN)
    for _ in range(_MAX_STEPS):
        slope, curvature = _differentiate(leads, n_decided + 1, weights, margin)
        # The slope falls with the margin: what is on the wrong side of the mode bounds it.
        low, high = (margin, high) if slope > 0 else (low, margin)
        moved = margin + slope / curvature if curvature > 0 else (low + high) / 2
        if not low < moved < high:
            moved = (low + high) / 2
        if abs(moved - margin) <= _TOLERANCE * moved:
            return moved
        margin = moved
    return margin


def log_prior(margin: float, prior: float) -> float:
    """Return the logarithm of what is thought of a margin beforehand, but for a constant.

    prior: the margin of the game, above 0.
    """
    p_draw = float(1 - 2 * _find_tail(prior))
    log_likelihood = (1 - p_draw) * log(_find_tail(margin)) + p_draw * log1p(
        -2 * _find_tail(margin)
    )
    return PRIOR_MATCHES * log_likelihood


def _find_tail(margin: float) -> float:
    return float(erfcx(_SQRT_HALF * margin) * np.exp(-(margin**2) / 2) / 2)


def _differentiate(
    lead: Floats, n_decided: int, weights: Floats, margin: float
) -> tuple[float, float]:
    """Return the slope of the log-likelihood by the margin, and minus its curvature."""
    wins = win_terms(lead[:n_decided], margin)
    slope, curvature = _differentiate_draws(np.abs(lead[n_decided:]), margin)
    decided_weights, drawn_weights = weights[:n_decided], weights[n_decided:]
    return (
        float(drawn_weights @ slope - decided_weights @ wins.slope),
        float(drawn_weights @ curvature + decided_weights @ wins.curvature),
    )


def _differentiate_draws(gap: Floats, margin: float) -> tuple[Floats, Floats]:
    """Return both of draws of agents so far apart, 0 or more; scaled as likelihood.draw_terms."""
    low, high = gap - margin, gap + margin
    fall = np.exp(-2 * margin * gap)
    mass = erfcx(_SQRT_HALF * low) - fall * erfcx(_SQRT_HALF * high)
    slope = _SQRT_2_OVER_PI * (1 + fall) / mass
    return slope, slope**2 + _SQRT_2_OVER_PI * (high * fall - low) / mass
