"""The benchmark of large fields, in small: its figures are there and its pairing pairs."""

import json
from pathlib import Path

import pytest

from arena.ratings.settled import count_results, settle_ratings
from benchmarks import large_fields
from benchmarks.ratings import simulate_results

SMALL = large_fields.Sizes(agents=2_100, results=9_000, matches=100, top=5, samples=4)


def test_it_writes_its_figures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(large_fields, "SIZES", SMALL)
    assert large_fields.main(["--json", str(tmp_path / "figures.json")]) == 0
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert {"refit_cold_s", "refit_warm_s", "choose_s", "choose_cpu_s", "top_s"} <= set(figures)
    assert "2,100 agents" in capsys.readouterr().out


def test_it_chooses_as_many_matches_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_fields, "SIZES", SMALL)
    counts = count_results(simulate_results(SMALL.agents, SMALL.results))
    settled = settle_ratings(counts, SMALL.agents)
    assert settled.covariance is None
    assert len(large_fields.choose_matches(settled, counts)) == 50
