"""`./run bench` measures on real processes and says what is wrong with its options."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES
from launcher.folders import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.long]


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_bench_matches_measures_ours_the_peer_and_the_loop(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    done = _bench("matches", "--matches", "500", "--runs", "1", "--json", str(path))
    assert done.returncode == 0, done.stderr
    figures = json.loads(path.read_text())
    assert [row["name"] for row in figures["rows"]] == ["ours", "peer (Dask)", "bare loop"]
    assert all(row["matches_per_s"] > 0 for row in figures["rows"])
    assert figures["ratio_peer"] > 1
    assert 0 < figures["ratio_loop"] < 1
    assert figures["flatness"] is None
    assert "ratio to the peer" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        (["speed"], f"choose one of {', '.join(NAMES)}"),
        (["matches", "--matches", "-1"], "whole number from 100 on"),
        (["matches", "--json", "/nowhere/figures.json"], "/nowhere"),
        (["chaos", "--every", "never"], "number of seconds"),
    ],
)
def test_bad_options_end_with_status_2_and_name_the_value(
    arguments: list[str], refusal: str
) -> None:
    done = _bench(*arguments)
    assert done.returncode == 2
    assert refusal in done.stderr
