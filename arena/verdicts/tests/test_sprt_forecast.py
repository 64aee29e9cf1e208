"""Sequential tests played forward in thought."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.ratings.base import SIGMA
from arena.ratings.counts import Floats
from arena.verdicts.base import VerdictError
from arena.verdicts.scale import gap_of_elo
from arena.verdicts.sprt import EloModel, SequentialTest
from arena.verdicts.sprt_forecast import (
    Gap,
    Walks,
    block_shares,
    draw_block_shares,
    forecast_test,
    ratio_moments,
    walk_ratios,
)

NONE = (0, 0, 0, 0, 0)
LIMIT = 20_000
VALUES = np.linspace(0, 1, 5)


def walks_of(
    test: SequentialTest,
    shape: Floats,
    counts: Sequence[int] = NONE,
    n: int = 1_000,
    more: int = 50,
) -> Walks:
    shapes = np.tile(shape, (n, 1))
    rng = np.random.default_rng(1)
    return walk_ratios(test, shapes, counts, limit=LIMIT, n_more=more, rng=rng)


def played(test: SequentialTest, shape: Floats, counts: Sequence[int], n: int = 100) -> Floats:
    """Return the blocks that tests take and whether they accept, by playing them: [n, 2]."""
    rng, ends = np.random.default_rng(2), []
    for _ in range(n):
        outcomes = rng.choice(5, size=2_000, p=shape)
        each = np.asarray(counts) + np.cumsum(np.eye(5, dtype=np.int64)[outcomes], axis=0)
        curve = test.llr(each)
        out = np.flatnonzero((curve >= test.upper) | (curve <= test.lower))
        first = int(out[0]) if out.size else 1_999
        ends.append((first + 1, curve[first] > 0))
    return np.array(ends, np.float64)


def shape_of(elo: float) -> Floats:
    (shape,) = block_shares(np.array([gap_of_elo(elo)]), 0.1)
    return np.asarray(shape)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("test", "elo", "counts"),
    [
        (SequentialTest(0, 20), 0.0, NONE),
        (SequentialTest(0, 20), 10.0, (10, 40, 80, 42, 18)),
        (SequentialTest(0, 100), 130.0, NONE),
        (SequentialTest(0, 40, model=EloModel.NORMALISED), 60.0, NONE),
    ],
    ids=str,
)
def test_it_takes_what_tests_take_that_are_played(
    test: SequentialTest, elo: float, counts: Sequence[int]
) -> None:
    shape = shape_of(elo)
    walks, real = walks_of(test, shape, counts), played(test, shape, counts)
    spread = real[:, 0].std() / np.sqrt(len(real))
    assert walks.n_blocks.mean() == pytest.approx(real[:, 0].mean(), abs=4 * spread)
    assert walks.is_accepted.mean() == pytest.approx(real[:, 1].mean(), abs=0.12)
    assert walks.is_over.all()


@pytest.mark.no_cover
@settings(max_examples=12, deadline=None)
@given(st.sampled_from([(0.0, 20.0), (-10.0, 10.0), (0.0, 40.0)]), st.sampled_from([0, 1]))
def test_at_its_bounds_it_takes_what_wald_says_and_errs_as_stated(
    bounds: tuple[float, float], at: int
) -> None:
    test = SequentialTest(*bounds, alpha=0.1, beta=0.1)
    shape = shape_of(bounds[at])
    walks = walks_of(test, shape)
    scores = [1 / (1 + 10 ** (-elo / 400)) for elo in bounds]
    variance = shape @ VALUES**2 - (shape @ VALUES) ** 2
    drift = (scores[1] - scores[0]) ** 2 / (2 * variance)
    wald = (0.9 * test.upper + 0.1 * test.lower) / drift
    assert walks.n_blocks.mean() == pytest.approx(wald, rel=0.12)
    wrong = walks.is_accepted.mean() if at == 0 else 1 - walks.is_accepted.mean()
    assert 0.05 < wrong < 0.135


@given(st.lists(st.integers(200, 400), min_size=5, max_size=5), st.sampled_from(list(EloModel)))
def test_of_many_blocks_two_moments_say_what_the_fit_says(
    counts: list[int], model: EloModel
) -> None:
    test = SequentialTest(0, 10, model=model)
    exact = float(test.llr(counts))
    near, variance = ratio_moments(test, np.array([counts]))
    assert near[0] == pytest.approx(exact, rel=0.1, abs=0.1)
    assert 0 < variance[0] < 0.1


@given(st.floats(-10, 10), st.floats(0.05, 0.6))
def test_blocks_of_a_gap_are_those_of_two_games(gap: float, draws: float) -> None:
    (shape,) = block_shares(np.array([gap]), draws)
    (turned,) = block_shares(np.array([-gap]), draws)
    assert shape.sum() == pytest.approx(1)
    assert shape.tolist() == pytest.approx(turned[::-1].tolist())
    win, loss = np.sqrt(shape[-1]), np.sqrt(shape[0])
    assert shape @ VALUES == pytest.approx((1 + win - loss) / 2, abs=0.02)


def test_many_blocks_outweigh_the_ratings_and_few_do_not() -> None:
    rng = np.random.default_rng(3)
    sure = Gap(gap_of_elo(100), 0.1)
    few = draw_block_shares((1, 0, 0, 0, 0), sure, rng=rng, n=400) @ VALUES
    many = draw_block_shares((300, 400, 200, 60, 40), sure, rng=rng, n=400) @ VALUES
    assert few.mean() > 0.6
    assert many.mean() == pytest.approx(0.285, abs=0.03)
    assert draw_block_shares(NONE, Gap(), rng=rng, n=400).std() > few.std()


def test_what_is_said_to_be_accepted_is_accepted_as_often() -> None:
    """Of pairs drawn from the prior, the share accepted is the one foreseen."""
    test, gap = SequentialTest(0, 60), Gap(gap_of_elo(30), gap_of_elo(40))
    forecast, _ = forecast_test(test, NONE, gap, limit=LIMIT, seed=4)
    rng = np.random.default_rng(5)
    truths = block_shares(rng.normal(gap.mu, gap.sd, 1_000), 0.1)
    walks = walk_ratios(test, truths, NONE, limit=LIMIT, n_more=50, rng=rng)
    assert forecast.accepted == pytest.approx(walks.is_accepted.mean(), abs=0.06)
    assert forecast.matches == pytest.approx(2 * np.median(walks.n_blocks), rel=0.2)


def test_close_agents_take_longer_than_those_far_apart() -> None:
    close, far = (
        forecast_test(SequentialTest(0, 20), NONE, Gap(gap_of_elo(elo), 0.2), limit=10**6, seed=1)[
            0
        ]
        for elo in (10, 300)
    )
    assert close.matches > 3 * far.matches
    assert far.accepted > 0.99
    assert close.low < close.matches < close.high
    assert close.decided == 1.0


def test_more_matches_move_the_ratio_to_the_bound_that_is_coming() -> None:
    forecast, more = forecast_test(
        SequentialTest(0, 20), (30, 75, 150, 95, 42), Gap(), limit=10**6, seed=1, n_more=100
    )
    assert 0 < more.now < more.then <= SequentialTest(0, 20).upper
    assert forecast.accepted > 0.9
    assert 0 < more.verdict < 1


def test_the_chance_of_a_verdict_is_the_share_of_walks_that_end_by_then() -> None:
    test, counts = SequentialTest(0, 20), (30, 75, 150, 95, 42)
    _, more = forecast_test(test, counts, Gap(), limit=10**6, seed=1, n_more=400)
    forecast, _ = forecast_test(test, counts, Gap(), limit=400, seed=1, n_more=400)
    assert more.verdict == pytest.approx(forecast.decided, abs=0.08)


def test_the_limit_ends_what_is_not_decided() -> None:
    forecast, more = forecast_test(SequentialTest(0, 2), NONE, Gap(0.0, 0.1), limit=40, seed=1)
    assert (forecast.matches, forecast.decided) == (40.0, 0.0)
    assert more.verdict == 0.0
    assert more.then == pytest.approx(0.0, abs=0.1)


def test_a_test_that_is_over_takes_nothing_more() -> None:
    test = SequentialTest(0, 20)
    forecast, more = forecast_test(test, (100, 200, 300, 260, 160), Gap(), limit=100, seed=1)
    assert (forecast.matches, forecast.decided, forecast.accepted) == (0.0, 1.0, 1.0)
    assert more.now == more.then >= test.upper
    assert more.verdict == 1.0
    turned, _ = forecast_test(test, (160, 260, 300, 200, 100), Gap(), limit=100, seed=1)
    assert turned.accepted == 0.0


def test_the_same_evidence_says_the_same() -> None:
    arguments = (SequentialTest(0, 20), (3, 4, 5, 6, 7), Gap(1.0, 2.0))
    assert forecast_test(*arguments, limit=1_000, seed=7) == forecast_test(
        *arguments, limit=1_000, seed=7
    )


def test_of_pairs_that_never_met_little_is_known() -> None:
    gap = Gap()
    assert gap.sd == pytest.approx(np.sqrt(2) * SIGMA)
    forecast, _ = forecast_test(SequentialTest(0, 20), NONE, gap, limit=10**6, seed=1)
    assert 0.4 < forecast.accepted < 0.6


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"counts": (1, 2, 3)}, "counts must be of 5 cells, got 3"),
        ({"limit": 1}, "limit and n_more must be 2 or more, got 1, 100"),
        ({"n_more": 0}, "limit and n_more must be 2 or more, got 100, 0"),
    ],
    ids=str,
)
def test_it_refuses_what_is_no_question(changes: dict[str, object], refusal: str) -> None:
    arguments = {"counts": NONE, "gap": Gap(), "limit": 100, "seed": 1, **changes}
    with pytest.raises(VerdictError, match=refusal):
        forecast_test(SequentialTest(0, 20), **arguments)  # type: ignore[arg-type]


def test_a_walk_begins_at_the_exact_ratio_of_the_blocks_played() -> None:
    counts, test = (0, 0, 60, 0, 4), SequentialTest(0, 40)
    near, _ = ratio_moments(test, np.array([counts]))
    _, more = forecast_test(test, counts, Gap(), limit=10**6, seed=1, n_more=2)
    assert abs(near[0] - more.now) > 0.3
    assert more.then == pytest.approx(more.now, abs=0.15)
