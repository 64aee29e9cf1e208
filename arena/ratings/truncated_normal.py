"""Mean and variance of a normal difference once its match is known: v and w of TrueSkill.

For a difference z ~ N(t, 1) that was seen to pass a margin e (a win, z > e) or to stay inside it
(a draw, |z| < e): v is the shift of its mean, 1 - w its variance. Computed without cancellation, so
that no result is too surprising. Source: Herbrich, Minka, Graepel: TrueSkill (2006), section 3;
tails by the continued fraction of Mills' ratio (Abramowitz and Stegun 26.2.14).
"""

from math import erfc, exp, pi, sqrt

from numpy.polynomial.legendre import leggauss

SQRT_HALF = sqrt(0.5)
SQRT_2_OVER_PI = sqrt(2 / pi)

# From here on v + x would cancel, so the continued fraction takes over.
_TAIL = 5.0
# Levels of the continued fraction; enough for full accuracy from _TAIL on.
_N_LEVELS = 60
# Below this width of the draw interval the difference of two tails would cancel.
_NARROW = 0.02
# Eight nodes integrate polynomials of degree 15 exactly: more than the flat density needs.
_QUADRATURE = [((1 + float(x)) / 2, float(w)) for x, w in zip(*leggauss(8), strict=True)]


def win_moments(x: float) -> tuple[float, float]:
    """Return (v, w) after a win, where x = t - e is the expected lead over the margin."""
    if x > -_TAIL:
        v = SQRT_2_OVER_PI * exp(-0.5 * x * x) / erfc(-SQRT_HALF * x)
        return v, v * (v + x)
    excess = _find_tail_excess(-x)
    return excess - x, min(1.0, (excess - x) * excess)


def draw_moments(t: float, e: float) -> tuple[float, float]:
    """Return (v, w) after a draw, where t is the expected lead and e > 0 the margin."""
    lead = abs(t)
    low, high = lead - e, lead + e
    if low < _TAIL and e + e > _NARROW:
        at_low, at_high = exp(-0.5 * low * low), exp(-0.5 * high * high)
        scale = SQRT_2_OVER_PI / (erfc(SQRT_HALF * low) - erfc(SQRT_HALF * high))
        v = (at_low - at_high) * scale
        w = v * v + (high * at_high - low * at_low) * scale
    elif (e + e) * (abs(low) + 1) < 1:
        v, w = _draw_narrow(low, e + e)
    else:
        v, w = _draw_far(low, high, e + e)
    return (-v if t > 0 else v), w


def _draw_narrow(low: float, width: float) -> tuple[float, float]:
    """Integrate over the interval: all terms are positive, and its density is nearly flat."""
    steps = [width * s for s, _ in _QUADRATURE]
    masses = [m * exp(-u * (low + u / 2)) for u, (_, m) in zip(steps, _QUADRATURE, strict=True)]
    total = sum(masses)
    mean = sum(m * u for u, m in zip(steps, masses, strict=True)) / total
    variance = sum(m * (u - mean) ** 2 for u, m in zip(steps, masses, strict=True)) / total
    return low + mean, 1 - variance


def _draw_far(low: float, high: float, width: float) -> tuple[float, float]:
    """Return v = low + m and w = m (low + m) + ..., m the mean distance from the near margin."""
    low_excess, high_excess = _find_tail_excess(low), _find_tail_excess(high)
    low_ratio, high_ratio = 1 / (low + low_excess), 1 / (high + high_excess)
    at_high = exp(-width * (low + high) / 2)
    beyond = at_high * high_ratio
    mass = low_ratio - beyond
    mean = (low_ratio * low_excess - beyond * (width + high_excess)) / mass
    return low + mean, min(1.0, mean * (low + mean) + width * at_high / mass)


def _find_tail_excess(z: float) -> float:
    """Return phi(z) / Phi(-z) - z for z >= _TAIL: how far beyond z its tail lies on average."""
    # From the innermost level outwards, which needs no test of convergence.
    fraction = 0.0
    for level in range(_N_LEVELS, 0, -1):
        fraction = level / (z + fraction)
    return fraction
