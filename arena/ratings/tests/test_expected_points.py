"""What ratings expect of a game, against many games that were drawn."""

import numpy as np
import pytest

from arena.ratings.base import BETA, unit_draw_margin
from arena.ratings.expected_points import expect_points


@pytest.mark.parametrize("seat", [0.0, 12.0])
@pytest.mark.parametrize("gap", [-9.0, 0.0, 5.0])
def test_it_is_the_mean_over_both_seats(gap: float, seat: float) -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, np.sqrt(2) * BETA, (2, 400_000))
    lead = gap + np.array([[seat], [-seat]]) + noise
    margin = unit_draw_margin(0.3) * np.sqrt(2) * BETA
    points = np.where(np.abs(lead) < margin, 0.5, lead > 0)
    expected = expect_points(np.array([gap]), draw_probability=0.3, seat=seat)
    assert expected.mean[0] == pytest.approx(points.mean(), abs=0.003)
    assert expected.variance[0] == pytest.approx(points.var(axis=1).mean(), abs=0.003)
    step = 1e-4
    near = expect_points(np.array([gap - step, gap + step]), draw_probability=0.3, seat=seat).mean
    assert expected.slope[0] == pytest.approx((near[1] - near[0]) / (2 * step), rel=1e-6)
