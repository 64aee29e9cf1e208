"""What is believed of effects, of which leads are sums, as results of blocks tell it.

A Kalman filter with Laplace's approximation for a likelihood that is not normal (Fahrmeir 1992), of
several beliefs k at once.
"""

from math import pi, sqrt
from typing import Final, NamedTuple

import numpy as np
from scipy.special import ndtr

from arena.ratings.base import BETA, unit_draw_margin
from arena.ratings.counts import Floats, Ints
from arena.ratings.settled import SettledRatings
from arena.verdicts.lead_effects import LeadEffects

_UNIT: Final = sqrt(2) * BETA
# As many, and as long, as it takes in fields of which one hardly ever beats the next.
_N_NEWTON, _LONGEST_STEP = 10, 4 * BETA
_CLOSE = 1e-6
_LEAST = 1e-12


class EffectBelief(NamedTuple):
    """What is believed of effects: float64 [k, e] and [k, e, e]."""

    mu: Floats
    covariance: Floats


class _Likelihood(NamedTuple):
    """What results say at some leads: float64 [k], [k, b] and [k, b]."""

    log_likelihood: Floats
    slope: Floats
    information: Floats


class LeadFilter(NamedTuple):
    """Tells beliefs by results, of agents of these ratings."""

    settled: SettledRatings
    dispersion: float

    def learn(
        self, prior: EffectBelief, effects: LeadEffects, scores: Ints
    ) -> tuple[Floats, EffectBelief]:
        """Return the log evidence float64 [k] of the scores, and what is believed after them.

        Newton's method among the leads of the blocks (Rasmussen and Williams 2006, 3.5): of a part
        those are few, however many effects there are.
        """
        along = effects.signs @ prior.covariance
        spread = along @ effects.signs.T + np.diag(effects.noise)
        expected = prior.mu @ effects.signs.T
        pull = np.zeros_like(expected)
        for _ in range(_N_NEWTON):
            results = self._read(expected + _times(spread, pull), scores)
            step = _find_pull(spread, pull, results) - pull
            furthest = np.abs(_times(spread, step)).max(axis=1, initial=0)
            pull = pull + step * (_LONGEST_STEP / np.maximum(furthest, _LONGEST_STEP))[:, None]
            if furthest.max() < _CLOSE:
                break
        moved = _times(spread, pull)
        results = self._read(expected + moved, scores)
        root, narrowed = _narrow(spread, results)
        log_volume = np.linalg.slogdet(narrowed)[1]
        evidence: Floats = results.log_likelihood - ((moved * pull).sum(axis=1) + log_volume) / 2
        gain = root[:, :, None] * along
        covariance = prior.covariance - gain.swapaxes(1, 2) @ np.linalg.solve(narrowed, gain)
        return evidence, EffectBelief(prior.mu + (pull[:, None] @ along)[:, 0], covariance)

    def _read(self, leads: Floats, scores: Ints) -> _Likelihood:
        """Return what results of blocks say of the leads float64 [k, b] of the first agent."""
        margin = unit_draw_margin(self.settled.draw_probability)
        seat = self.settled.seat.mu if self.settled.seat else 0.0
        there = _read_game((leads + seat) / _UNIT, scores[:, 0], margin)
        back = _read_game((leads - seat) / _UNIT, scores[:, 1], margin)
        return _Likelihood(
            *((one + other) / self.dispersion for one, other in zip(there, back, strict=True))
        )


def _find_pull(spread: Floats, pull: Floats, results: _Likelihood) -> Floats:
    """Return how far, in spreads, Newton's next step is from what was expected."""
    root, narrowed = _narrow(spread, results)
    target = results.information * _times(spread, pull) + results.slope
    explained = np.linalg.solve(narrowed, (root * _times(spread, target))[:, :, None])[:, :, 0]
    next_pull: Floats = target - root * explained
    return next_pull


def _narrow(spread: Floats, results: _Likelihood) -> tuple[Floats, Floats]:
    """Return the roots of what each result tells, and how much surer leads become by them."""
    root = np.sqrt(results.information)
    narrowed = root[:, :, None] * spread * root[:, None] + np.eye(spread.shape[1])
    return root, narrowed


def _times(matrices: Floats, vectors: Floats) -> Floats:
    product: Floats = (matrices @ vectors[:, :, None])[:, :, 0]
    return product


def _read_game(lead: Floats, score: Ints, margin: float) -> _Likelihood:
    at_win, at_loss = _density(lead - margin), _density(lead + margin)
    win, loss = ndtr(lead - margin), ndtr(-lead - margin)
    chances = [np.maximum(chance, _LEAST) for chance in (win, 1 - win - loss, loss)]
    slopes = [at_win, at_loss - at_win, -at_loss]
    chance = _pick(score, *chances)
    information = sum(up**2 / chance for up, chance in zip(slopes, chances, strict=True))
    slope = _pick(score, *slopes) / chance
    log_likelihood = np.log(chance).sum(axis=1)
    return _Likelihood(log_likelihood, slope / _UNIT, np.asarray(information) / _UNIT**2)


def _pick(score: Ints, win: Floats, draw: Floats, loss: Floats) -> Floats:
    """Return what belongs to each score: several times as fast as numpy.select."""
    picked: Floats = np.where(score > 0, win, np.where(score < 0, loss, draw))
    return picked


def _density(x: Floats) -> Floats:
    density: Floats = np.exp(-(x**2) / 2) / sqrt(2 * pi)
    return density
