"""`./run bench live`: its figures from known times, and a small run on a real stack."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import live
from benchmarks.watching.figures import (
    Outcomes,
    Watched,
    count_delays,
    find_growth,
    find_most_behind,
    find_quantile_ms,
)
from benchmarks.watching.viewers import Crowd
from launcher.folders import ROOT

KEYS = {"viewers", "p95_ms", "max_snapshots_behind", "web_cpu_cores", "rss_growth_mb"}
NEVER = float("inf")


def _outcomes(*rows: tuple[float, int]) -> Outcomes:
    at, n = zip(*rows, strict=True)
    return Outcomes(np.array(at), np.array(n))


def test_an_outcome_waits_for_the_first_state_that_counts_it() -> None:
    outcomes = _outcomes((10.0, 2), (10.25, 5))
    watched = Watched(np.array([2, 5]), np.array([[10.5, 10.75], [11.0, 11.25]]))
    counts = count_delays(outcomes, watched, begin=10, end=11)
    waited = {int(ms): int(counts[ms]) for ms in np.flatnonzero(counts)}
    assert waited == {500: 2, 750: 2 + 3, 1000: 3}


def test_who_missed_a_state_waits_for_the_next_one() -> None:
    watched = Watched(np.array([2, 5]), np.array([[NEVER], [11.0]]))
    counts = count_delays(_outcomes((10.0, 2)), watched, begin=10, end=11)
    assert find_quantile_ms(counts, 0.95) == 1000


def test_what_never_came_has_no_figure() -> None:
    watched = Watched(np.array([2]), np.array([[10.5]]))
    counts = count_delays(_outcomes((10.0, 3)), watched, begin=10, end=11)
    assert find_quantile_ms(counts, 0.95) is None


def test_only_outcomes_of_the_window_count() -> None:
    outcomes = _outcomes((9.0, 1), (10.0, 2), (11.0, 3))
    watched = Watched(np.array([3]), np.array([[11.5]]))
    assert count_delays(outcomes, watched, begin=10, end=11).sum() == 1


@pytest.mark.parametrize(
    ("received", "behind"),
    [
        ([[1.1, 1.4], [2.1, 2.4], [3.1, 3.4]], 1),
        ([[1.1, 2.2], [2.1, 2.4], [3.1, 3.4]], 2),
        ([[1.1, NEVER], [2.1, NEVER], [3.1, 3.4]], 3),
    ],
)
def test_a_viewer_is_behind_by_the_states_pushed_since(
    received: list[list[float]], behind: int
) -> None:
    pushed = np.array([1.0, 2.0, 3.0])
    assert find_most_behind(pushed, np.array(received), begin=0, end=10) == behind


def test_growth_compares_the_ends() -> None:
    assert find_growth(np.array([5.0] * 10 + [9.0] * 80 + [6.0] * 10)) == 1.0
    assert find_growth(np.array([5.0])) == 0.0


def _message(kind: str, sequence: int) -> bytes:
    status = {"n_outcomes": "1,234"}
    message = {"type": kind, "epoch": "e", "sequence": sequence, "status": status}
    return json.dumps(message).encode()


def test_a_message_is_read_once_for_all() -> None:
    crowd = Crowd(2)
    first, again = (
        crowd.read_message(_message("delta", 7)),
        crowd.read_message(_message("delta", 7)),
    )
    assert first is again
    assert first is not None
    assert (first.sequence, first.n_counted) == (7, 1234)
    assert crowd.read_message(b'{"type": "nodes", "nodes": "1"}') is None


def test_a_state_is_received_when_it_comes_first() -> None:
    crowd = Crowd(2)
    state = crowd.read_message(_message("delta", 7))
    assert state is not None
    crowd.note_state(0, state, 5.0)
    crowd.note_state(0, state, 6.0)
    assert list(crowd.received["e", 7]) == [5.0, NEVER]


def test_too_many_viewers_for_the_machine_are_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 1024))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        live.main(["--viewers", "5000"])
    assert ended.value.code == 2
    assert "5000 viewers need 5200 open files" in capsys.readouterr().err


def test_the_limit_is_raised_where_the_machine_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 4096))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: chosen.append(limits))
    live.require_files(1000)
    assert chosen == [(1200, 4096)]


@pytest.mark.slow
@pytest.mark.long
def test_viewers_of_a_real_stack_see_what_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "live", "--viewers", "20", "--seconds", "3"]
    command += ["--agents", "10", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(path.read_text())
    assert figures.keys() >= KEYS
    assert (figures["viewers"], figures["drops"], figures["gaps"]) == (20, 0, 0)
    assert figures["matches"] > 0
    assert figures["pushes"] > 0
    assert 0 < figures["p95_ms"] < 30_000
    assert "recorded to received, p95 ms" in done.stdout
