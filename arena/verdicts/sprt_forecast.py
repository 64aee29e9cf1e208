"""How long a sequential test will take, and what some more matches would change.

What the blocks of two agents bring is drawn from what is known: from the blocks that were played
and, while those are few, from the gap between the ratings. For each draw the blocks to come are
simulated, and the walk of the log-likelihood ratio is followed until it leaves the bounds.

After the first blocks the ratio of a walk is its approximation by mean and variance (Van den Bergh,
"A practical introduction to the GSPRT", section 2: N/2 log of the quotient of the second moments
about the two bounds), some hundred times as fast as the fit of two distributions and equal to it in
the limit of close bounds. It goes on from the exact ratio.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import gammaln, ndtr

from arena.ratings.base import BETA, DRAW_PROBABILITY, SIGMA, unit_draw_margin
from arena.ratings.counts import Bools, Floats, Ints
from arena.verdicts.base import VerdictError
from arena.verdicts.scale import score_of_elo
from arena.verdicts.sprt import BLOCKS, ELO_PER_T, Decision, EloModel, SequentialTest

N_WALKS = 512
_N_GAPS, _WIDEST = 161, 4.0
# How many blocks what the rating model expects of a gap is worth: agents do not keep to it.
_TRUST = 50.0
# Every block is looked at up to fifty, later some together: between, it may cross and return.
_GROWTH = 0.02
# Of so many blocks the ratio is exact: their variance says little yet.
_EXACT = 40
_UNSEEN = 1e-3
_UNIT = sqrt(2) * BETA
_LOW, _HIGH = 0.1, 0.9
_VALUES = np.linspace(0, 1, BLOCKS)
_GAMES = 2


@dataclass(frozen=True)
class Gap:
    """What is known of skill A - skill B but for the blocks of the two: normal, in rating."""

    mu: float = 0.0
    sd: float = sqrt(2) * SIGMA
    draw_probability: float = DRAW_PROBABILITY


@dataclass(frozen=True)
class SprtForecast:
    """How many more matches until a test ends: the median, and 10 % and 90 % of the cases.

    decided: the share of the cases that end within the limit; the others count as the limit.
    accepted: the share that ends with A better by elo1.
    """

    matches: float
    low: float
    high: float
    decided: float
    accepted: float


@dataclass(frozen=True)
class SprtOutlook:
    """What some more matches would change.

    now, then: the log-likelihood ratio; then is what to expect. verdict: the chance that they end
    the test.
    """

    now: float
    then: float
    verdict: float


@dataclass(frozen=True)
class Walks:
    """Walks of the ratio, each with the blocks that it took more, at most the limit.

    n_blocks: int64 [t]. is_over, is_accepted: bool [t], whether it left the bounds, and upwards.
    then: float64 [t], the ratio after n_more blocks, or where it left the bounds before.
    """

    n_blocks: Ints
    is_over: Bools
    is_accepted: Bools
    then: Floats


def forecast_test(
    test: SequentialTest,
    counts: Sequence[int],
    gap: Gap,
    *,
    limit: int,
    seed: int,
    n_more: int = 100,
) -> tuple[SprtForecast, SprtOutlook]:
    """Return the matches until the test ends, at most `limit`, and what n_more would change.

    counts: int [5], the blocks so far. Raises VerdictError.
    """
    if len(counts) != BLOCKS:
        raise VerdictError(f"counts must be of {BLOCKS} cells, got {len(counts)}")
    if limit < _GAMES or n_more < _GAMES:
        raise VerdictError(f"limit and n_more must be {_GAMES} or more, got {limit}, {n_more}")
    state, rng = test.state(counts), np.random.default_rng(seed)
    if state.decision is not Decision.CONTINUE:
        is_accepted = float(state.decision is Decision.ACCEPT)
        outlook = SprtOutlook(state.llr, state.llr, 1.0)
        return SprtForecast(0.0, 0.0, 0.0, 1.0, is_accepted), outlook
    shapes = draw_block_shares(counts, gap, rng=rng, n=N_WALKS)
    more = n_more // _GAMES
    walks = walk_ratios(test, shapes, counts, limit=limit // _GAMES, n_more=more, rng=rng)
    matches = _GAMES * walks.n_blocks
    low, high = np.quantile(matches, [_LOW, _HIGH])
    forecast = SprtForecast(
        float(np.median(matches)),
        float(low),
        float(high),
        float(walks.is_over.mean()),
        float(walks.is_accepted.mean()),
    )
    return forecast, SprtOutlook(
        state.llr,
        float(walks.then.mean()),
        float(np.mean(walks.is_over & (walks.n_blocks <= more))),
    )


def block_shares(gaps: Floats, draw_probability: float) -> Floats:
    """Return how often blocks bring 0, 1/2, 1, 3/2 and 2 points: [k, 5], for gaps in rating [k]."""
    margin, lead = unit_draw_margin(draw_probability), gaps / _UNIT
    win, loss = ndtr(lead - margin), ndtr(-lead - margin)
    draw = 1 - win - loss
    # 0, 1/2, 1, 3/2 and 2 points of two games; one point is two draws or a win each.
    cells = (loss**2, 2 * loss * draw, draw**2 + 2 * win * loss, 2 * win * draw, win**2)
    shapes: Floats = np.maximum(np.stack(cells, axis=-1), _UNSEEN / BLOCKS)
    shares: Floats = shapes / shapes.sum(axis=-1, keepdims=True)
    return shares


def draw_block_shares(
    counts: Sequence[int], gap: Gap, *, rng: np.random.Generator, n: int
) -> Floats:
    """Return distributions of the outcomes of blocks that may be the truth: float64 [n, 5].

    Each is Dirichlet about what the rating model expects of a gap; of the gaps those count more
    under which the blocks so far are likely.
    """
    z = np.linspace(-_WIDEST, _WIDEST, _N_GAPS)
    expected = _TRUST * block_shares(gap.mu + gap.sd * z, gap.draw_probability)
    seen = np.asarray(counts, np.float64)
    # The Dirichlet-multinomial likelihood of the blocks, times the normal density of the gap.
    logs = (gammaln(seen + expected) - gammaln(expected)).sum(axis=1) - z**2 / 2
    weights = np.exp(logs - logs.max())
    chosen = rng.choice(_N_GAPS, size=n, p=weights / weights.sum())
    # Normalised gammas are a Dirichlet draw; numpy's own takes one set of parameters a call.
    gammas = rng.standard_gamma(seen + expected[chosen])
    shapes: Floats = gammas / gammas.sum(axis=1, keepdims=True)
    return shapes


def walk_ratios(
    test: SequentialTest,
    shapes: Floats,
    counts: Sequence[int],
    *,
    limit: int,
    n_more: int,
    rng: np.random.Generator,
) -> Walks:
    """Return walks under these distributions [t, 5] until they leave the bounds of the test.

    counts: the blocks so far, of a test that goes on. limit, n_more: blocks.
    """
    n_walks, n_known = len(shapes), int(np.sum(counts))
    n_blocks, is_over = np.full(n_walks, limit), np.zeros(n_walks, np.bool_)
    is_accepted, then = np.zeros(n_walks, np.bool_), np.zeros(n_walks)
    walking, seen = np.arange(n_walks), np.tile(np.asarray(counts, np.int64), (n_walks, 1))
    ratio, n_played = _Ratio(test, seen), 0
    while n_played < limit and len(walking):
        step = max(1, int(_GROWTH * (n_known + n_played)))
        # Never past n_more or the limit, at which something is read off.
        step = min(step, min(mark for mark in (n_more, limit) if mark > n_played) - n_played)
        seen += rng.multinomial(step, shapes[walking])
        n_played += step
        before, now = ratio.value, ratio.after(seen)
        up, down = _cross_bounds(test, before, now, ratio.variance * (step if step > 1 else 0), rng)
        if n_played <= n_more:
            # A walk that left the bounds has ended, so that its ratio stays where it left.
            then[walking] = np.where(up, test.upper, np.where(down, test.lower, now))
        ended = up | down
        which = walking[ended]
        n_blocks[which], is_over[which], is_accepted[which] = n_played, True, up[ended]
        walking, seen = walking[~ended], seen[~ended]
        ratio.keep(~ended)
    return Walks(n_blocks, is_over, is_accepted, then)


class _Ratio:
    """The log-likelihood ratio of walks: value, float64 [t]; exact at first, then by two moments.

    variance: float64 [t], what the next block adds to that of the ratio.
    """

    def __init__(self, test: SequentialTest, counts: Ints) -> None:
        """Begin with the exact ratio of counts [t, 5]."""
        self._test = test
        self.value = test.llr(counts)
        mean, self.variance = ratio_moments(test, counts)
        self._offset = self.value - mean

    def after(self, counts: Ints) -> Floats:
        """Return the ratio after more blocks: counts [t, 5] of all blocks so far."""
        mean, self.variance = ratio_moments(self._test, counts)
        if counts[0].sum() <= _EXACT:
            self._offset = self._test.llr(counts) - mean
        self.value = mean + self._offset
        return self.value

    def keep(self, which: Bools) -> None:
        """Go on with some of the walks: which, bool [t]."""
        self.value, self.variance = self.value[which], self.variance[which]
        self._offset = self._offset[which]


def ratio_moments(test: SequentialTest, counts: Ints) -> tuple[Floats, Floats]:
    """Return the ratio of counts [t, 5] by mean and variance, and what a block adds to that of it.

    Both float64 [t].
    """
    seen = np.where(counts == 0, _UNSEEN, counts)
    n = seen.sum(axis=-1)
    mean = seen @ _VALUES / n
    sd = np.sqrt(seen @ _VALUES**2 / n - mean**2)
    if test.model is EloModel.LOGISTIC:
        at_0, at_1 = ((score_of_elo(elo) - 0.5) / sd for elo in (test.elo0, test.elo1))
    else:
        at_0, at_1 = (np.full(len(n), sqrt(2) * elo / ELO_PER_T) for elo in (test.elo0, test.elo1))
    effect = (mean - 0.5) / sd
    value: Floats = n / 2 * np.log((1 + (effect - at_0) ** 2) / (1 + (effect - at_1) ** 2))
    return value, (at_1 - at_0) ** 2


def _cross_bounds(
    test: SequentialTest, before: Floats, after: Floats, variance: Floats, rng: np.random.Generator
) -> tuple[Bools, Bools]:
    """Return which walks left the bounds, upwards and downwards, at a step or since the last one.

    variance: of the step, 0 for one of a single block. Source of the chance to cross a line between
    two points of a Brownian motion: Siegmund, "Sequential Analysis" (1985), equation 3.13.
    """
    chance = rng.random((2, len(after)))
    safe = np.maximum(variance, 1e-12)
    above = np.maximum(test.upper - before, 0) * np.maximum(test.upper - after, 0)
    below = np.maximum(before - test.lower, 0) * np.maximum(after - test.lower, 0)
    up: Bools = (after >= test.upper) | (chance[0] < np.exp(-2 * above / safe))
    down: Bools = (after <= test.lower) | (chance[1] < np.exp(-2 * below / safe))
    return up & ~(down & (after < before)), down & ~(up & (after >= before))
