"""The benchmark of scores in small: its worlds, a campaign that is played, the plain loop."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import scores


@pytest.mark.parametrize("name", scores.DISTRIBUTIONS)
def test_a_world_has_the_means_that_it_is_given(name: str) -> None:
    means = np.repeat([[0.7], [0.5]], 20_000, axis=1)
    drawn = scores.DISTRIBUTIONS[name](np.random.default_rng(1), means)
    assert ((drawn >= 0) & (drawn <= 1)).all()
    # Cut at 1, the capped and clipped ones are lower; the order stays.
    assert drawn[0].mean() - drawn[1].mean() > 0.08


def test_a_campaign_on_cart_pole_scores_as_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "SHARES", (0.1, 0.9, 0.9, 0.95, 1.0))
    ended, is_same = scores.play_cart_pole(3)
    assert is_same
    assert (ended.best, ended.is_decided) == (0, True)
    assert ended.n_episodes <= ended.n_equal


def test_it_writes_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scores, "DISTRIBUTIONS", {"clipped": scores.draw_clipped})
    path = tmp_path / "figures.json"
    status = scores.main(["--campaigns", "2", "--real", "0", "--json", str(path)])
    (row,) = json.loads(path.read_text())["rows"]
    assert status == int(row["ratio"] > scores.MAX_RATIO)
    assert row["right"] == 1
    assert row["upper_5%"] > row["wrong_5%"] == 0
    assert "equal sampling" in capsys.readouterr().out
