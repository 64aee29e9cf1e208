"""The benchmark of campaigns on scores, in small."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import scores

pytestmark = pytest.mark.no_cover


@pytest.mark.parametrize("name", scores.WORLDS)
def test_the_agents_of_a_world_are_in_their_order(name: str) -> None:
    rng = np.random.default_rng(1)
    means = [scores.WORLDS[name](rng, agent, 4_000).mean() for agent in range(5)]
    assert means == sorted(means, reverse=True)


def test_a_benchmark_in_small_writes_its_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scores, "REAL_SEEDS", 10)
    monkeypatch.setattr(scores, "MAX_SEEDS", 100)
    few = ["--campaigns", "1", "--nulls", "20", "--real", "1"]
    assert scores.main([*few, "--json", str(tmp_path / "scores.json")]) == 0
    figures = json.loads((tmp_path / "scores.json").read_text())
    assert figures["is_bit_equal"]
    assert figures["means"] == figures["plain_means"]
    assert [row["wrong"] for row in figures["campaigns"]] == [0] * 6
    assert len(figures["errors"]) == 8
    assert "equal sampling" in capsys.readouterr().out
