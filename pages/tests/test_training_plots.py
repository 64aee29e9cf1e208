"""What is drawn of a training run: means over parts of the way, with intervals, and points."""

import numpy as np
import pytest

from pages.plots.training import N_PARTS, JudgedVersion, MeasuredMean, draw, pool
from pages.training.returns import find_return, list_lags


def test_episodes_of_several_versions_are_pooled_as_if_they_were_listed() -> None:
    rng = np.random.default_rng(1)
    groups = [rng.normal(100, 20, n) for n in (3, 1, 7)]
    parts = pool(
        [
            MeasuredMean(
                0, float(group.mean()), float(group.std(ddof=1)) if len(group) > 1 else None, n
            )
            for group, n in zip(groups, (3, 1, 7), strict=True)
        ]
    )
    listed = np.concatenate(groups)
    (part,) = parts
    assert part.mean == pytest.approx(listed.mean())
    assert part.high is not None
    # Student's t of 10 degrees of freedom.
    reach = 2.2281389 * listed.std(ddof=1) / np.sqrt(len(listed))
    assert part.high - part.mean == pytest.approx(reach)


def test_one_episode_has_no_interval() -> None:
    (part,) = pool([MeasuredMean(5, 7.0, None, 1)])
    assert (part.mean, part.low, part.high) == (7.0, None, None)
    assert pool([]) == []


def test_a_long_way_is_drawn_in_few_parts() -> None:
    parts = pool([MeasuredMean(step, float(step), 1.0, 2) for step in range(0, 100_000, 10)])
    assert len(parts) == N_PARTS
    assert parts[-1].last == 99_990
    drawing = draw(parts, n_steps=100_000)
    assert drawing is not None
    assert len(drawing.line.split()) == N_PARTS
    assert len(drawing.band.split()) == 2 * N_PARTS


def test_too_little_is_not_drawn() -> None:
    parts = pool([MeasuredMean(step, 1.0, None, 1) for step in (0, 100)])
    judged = [JudgedVersion(1, "a", 10, 1.0, 0.0, 2.0)] * 2
    assert draw(parts, judged, n_steps=100) is None
    drawing = draw(parts, [*judged, judged[0]], n_steps=100, names=("return", "mean score"))
    assert drawing is not None
    assert (drawing.line, len(drawing.points)) == ("", 3)
    assert [name for _, name, _ in drawing.labels] == ["mean score"]


def test_what_a_trainer_reported_last_has_an_interval_where_it_is_known() -> None:
    episode_return = find_return({"return": 10.0, "return_sd": 2.0, "n_episodes": 4.0})
    assert episode_return is not None
    assert episode_return.low == pytest.approx(10 - 3.1824463 * 2 / 2)
    assert find_return({"loss": 1.0}) is None
    alone = find_return({"return": 480.0})
    assert alone is not None
    assert alone.low is None


def test_a_lag_is_known_and_has_no_interval() -> None:
    assert pool(list_lags([(0, {"lag": 1.0}), (0, {"lag": 2.0, "n_used": 1.0})]))[0].low is None
