"""`./run bench inference`: real servers and clients with tiny networks; the keys of its JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client import generate_latest

from arena.policies.network_policy import FloatBatch
from benchmarks import inference
from benchmarks.networks import Size, Spell, busy_seconds, write_checkpoint
from benchmarks.serving import battles, hall
from benchmarks.serving.battles import Battle, run_workers
from benchmarks.serving.hall import Cell, Length, Load
from benchmarks.serving.load import Pool, Served, Tally, Window
from benchmarks.serving.servers import parse_metrics
from inference.metrics import Metrics
from inference.settings import Settings
from inference.tests.echo import EchoEngine

ROW = {
    "name",
    "network",
    "clients",
    "block",
    "requests_per_s",
    "observations_per_s",
    "p50_ms",
    "p99_ms",
    "cpu_us_per_observation",
    "rows_per_forward",
}
RATIOS = {"ratio_zmq_small", "ratio_celery_small", "ratio_direct_big", "stacked_ratio"}
BATTLES = {
    "ours_s",
    "copies_s",
    "ratio",
    "wins_equal",
    "loads_ours",
    "loads_copies",
    "loads_per_checkpoint_ours",
}
MEANS = ("rows_per_forward", "utilisation")
TINY = Length(warm_s=0.02, window_s=0.05)


@pytest.mark.slow
@pytest.mark.long
def test_every_way_answers_rightly_and_the_json_has_the_documented_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # main sets it: undone with the patch
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr(inference, "QUICK", TINY)
    monkeypatch.setattr(hall, "SETTLE_S", 0.0)
    monkeypatch.setattr(hall, "SMALL", Size("small", 16, 2))
    monkeypatch.setattr(hall, "BIG", Size("big", 16, 3))
    monkeypatch.setattr(battles, "measure", lambda *_: battle_figures())
    path = tmp_path / "figures.json"
    assert inference.main(["--quick", "--battles", "2", "--json", str(path)]) == 0
    figures = json.loads(path.read_text())
    assert figures.keys() >= RATIOS | {"rows", "battles"}
    assert figures["battles"].keys() >= BATTLES
    assert all(row.keys() == ROW for row in figures["rows"])
    assert {row["name"] for row in figures["rows"]} == {
        hall.DIRECT,
        hall.COPIES,
        hall.CELERY,
        hall.ZMQ,
        hall.OURS,
        hall.SIBLINGS,
        hall.FREE,
    }
    assert all(row["observations_per_s"] > 0 for row in figures["rows"])
    assert "ideal ZMQ" in capsys.readouterr().out


def battle_figures() -> dict[str, Any]:
    """Return what the contest says of two battles; the stack of it is tested end to end."""
    names = {"cpu_ratio", "ours_cpu_s", "copies_cpu_s", *BATTLES}
    names |= {f"{what}_{way}" for what in MEANS for way in ("ours", "copies")}
    wins = {key: {"first": 1, "second": 1, "draws": 0} for key in ("ours", "copies")}
    named = {"battles": 2, "workers": 10, "network": "big", "wins": wins, "outcomes_equal": True}
    return {**dict.fromkeys(names, 1.0), **named}


@pytest.mark.slow
@pytest.mark.long
def test_workers_with_copies_share_the_battles_and_play_them_alike(tmp_path: Path) -> None:
    seal = Size("tiny", 16, 2).seal_for_game(battles.GAME)
    two = [write_checkpoint(seal, tmp_path, seed=seed).path for seed in (1, 2)]
    drawn = [Battle(number // 2, ((0, 1), (1, 0))[number % 2]) for number in range(8)]
    several, one = (run_workers(drawn, two, n_workers=n) for n in (2, 1))
    assert several.ranks == one.ranks
    assert sum(several.count_wins().values()) == len(drawn)
    assert (several.n_loads, one.n_loads) == (4, 2)
    assert 0 < busy_seconds(several.spells) <= several.wall_s


def test_a_model_that_was_loaded_once_is_counted_once() -> None:
    """The page of a real worker: its slices count loads too, and when they began to."""
    engine = EchoEngine()
    engine.counts.update(models_loaded=2, forwards=5)
    metrics = Metrics(Settings(fast_url="redis://127.0.0.1:1/0", metrics_port=1), engine)
    metrics.count_slice({"models_loaded": 2, "forwards": 5})
    counts = parse_metrics(generate_latest(metrics.registry).decode())
    assert (counts["models_loaded"], counts["forwards"]) == (2, 5)
    assert max(counts.values()) < 1e6, "a moment is no count"


def test_a_wrong_answer_ends_the_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.ones((1, 4), np.float32)
    window = Window([Tally([0.1], 0.1, 0.1, values, values)], served_cpus=0.0, forwards=1, rows=1)
    monkeypatch.setattr(hall, "measure_window", lambda *_, **__: window)
    cell = Cell("ours", "small", Load(1, 1), make_nothing, Served(), lambda block: block + 1)
    with pytest.raises(ValueError, match="answered wrongly"):
        cell.measure(Pool(0), TINY, (4,))


def make_nothing() -> Callable[[FloatBatch], FloatBatch]:
    raise AssertionError("it is never asked to connect")


def test_time_in_which_forwards_overlap_counts_once() -> None:
    assert busy_seconds([Spell(2, 3), Spell(0, 1.5), Spell(1, 2), Spell(5, 6)]) == 4


@pytest.mark.parametrize("option", ["--battles", "--rounds"])
def test_bad_numbers_are_refused_before_anything_starts(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        inference.main([option, "-1"])
    assert "whole number" in capsys.readouterr().err
