"""The benchmark of the ratings: its figures, its table and what it refuses."""

import json
from pathlib import Path

import pytest

from benchmarks import ratings
from benchmarks.report import format_table

KEYS = {"updates_per_s", "package_updates_per_s", "ratio_package", "settle_1e5_s", "settle_1e6_s"}
FIGURES = dict.fromkeys(sorted(KEYS | {"refit_s"}), 2.0)


def test_it_prints_the_table_and_writes_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ratings, "measure", lambda: FIGURES)
    assert ratings.main(["--json", str(tmp_path / "out.json")]) == 0
    assert json.loads((tmp_path / "out.json").read_text()) == FIGURES
    assert "updates/s" in capsys.readouterr().out


def test_it_measures_all_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratings, "N_RUNS", 1)
    monkeypatch.setattr(ratings, "SIZES", ratings.Sizes(200, 20, 300, 300))
    figures = ratings.measure()
    assert figures.keys() >= KEYS
    assert all(figure > 0 for figure in figures.values())
    assert figures["ratio_package"] > 1


def test_ours_and_the_package_rate_the_same_results_alike() -> None:
    results = [tuple(row) for row in ratings.simulate_results(10, 300).tolist()]
    ours, package = ratings.fold_ours(10, results), ratings.fold_package(10, results)
    # The package's default backend has an erfc that is good to seven digits only.
    assert ours == pytest.approx(package, abs=1e-3)


@pytest.mark.parametrize("path", ["/no/such/folder/x.json", "/"])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ratings, "measure", lambda: pytest.fail("it has begun to work"))
    with pytest.raises(SystemExit) as exit_:
        ratings.main(["--json", path])
    assert exit_.value.code == 2
    assert f"'{path}'" in capsys.readouterr().err


def test_a_file_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(SystemExit) as exit_:
        ratings.main(["--json", str(tmp_path / "out.json")])
    assert exit_.value.code == 2
    assert "permission denied" in capsys.readouterr().err


def test_text_stands_left_and_figures_right() -> None:
    lines = format_table(
        ["what", "n"], [["a", 1_234_567], ["bcdefg", 0.123456], ["c", None]]
    ).splitlines()
    assert lines == [
        "what            n",
        "------  ---------",
        "a       1,234,567",
        "bcdefg      0.123",
        "c               -",
    ]
