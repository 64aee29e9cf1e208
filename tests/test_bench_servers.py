"""The storm over game servers and the measurement of served matches, without any server."""

from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import psutil
import pytest

from arena.messages import Ending, Reason
from benchmarks import servers
from benchmarks.storm import served
from benchmarks.storm.oracle import Progress
from workers.lines.transport import Transport
from workers.wire import EndedMatch
from workers.wire import Progress as Told


def ended(index: int, **more: Any) -> EndedMatch:
    done = EndedMatch(index, Ending.DONE, [0, 1], Reason.NONE, -1, "", 1.0, returns=[1.0, -1.0])
    return msgspec.structs.replace(done, **more)


def test_a_player_keeps_actions_and_returns_by_match() -> None:
    parent = servers.Parent()
    parent.send(Told([0, 3, 0, 1, 5, 0], []))
    parent.send(Told([0, 4, 0], [ended(0), ended(1, returns=[0.0, 0.0])]))
    assert parent.outcomes == {0: ([1.0, -1.0], [3, 4]), 1: ([0.0, 0.0], [5])}


def test_a_match_without_a_result_is_no_measurement() -> None:
    lost = ended(2, ending=Ending.INTERRUPTED, ranks=[], reason=Reason.SERVER_LOST, detail="gone")
    with pytest.raises(RuntimeError, match="match 2: server_lost: gone"):
        servers.Parent().send(Told([], [lost]))


def test_frames_both_ways_are_counted_and_bytes_behind_them_are_not() -> None:
    counts = Counter[str]()
    inner = SimpleNamespace(
        send=lambda text: None, receive=lambda limit_s: b"[]", receive_bytes=lambda n, limit_s: b"."
    )
    line = servers.CountingTransport(cast(Transport, inner), counts)
    line.send(b"[]")
    assert (line.receive(1), line.receive_bytes(1, 1)) == (b"[]", b".")
    assert counts["frames"] == 2


class Fake:
    """A server that is killed and started."""

    def __init__(self, name: str, acts: list[str]) -> None:
        self._name, self._acts = name, acts

    def kill(self) -> None:
        self._acts.append(f"kill {self._name}")

    def start(self) -> None:
        self._acts.append(f"start {self._name}")


def test_servers_and_head_are_killed_in_turn_and_are_back_when_they_play(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acts, now_s, last_start = list[str](), [100.0], {"sim-1": 0.0, "sim-3": 0.0}
    head = SimpleNamespace(kill=lambda: acts.append("kill head"))
    monkeypatch.setattr(served, "time", lambda: now_s[0])
    monkeypatch.setattr(served, "read_last_start", lambda url, name: last_start[name])
    monkeypatch.setattr(psutil, "Process", lambda pid: head)
    storm = served.ServerStorm(
        cast(Any, {name: Fake(name, acts) for name in ("sim-1", "sim-2", "sim-3")}),
        cast(Any, SimpleNamespace(pids=lambda: {served.HEAD: 7})),
        url="",
        n_matches=100,
    )

    def look(n_outcomes: int, *, after_s: float) -> None:
        now_s[0] += after_s
        storm.do_what_is_due(0.0, Progress(100, True, n_outcomes, {}))

    look(14, after_s=0)
    assert acts == []
    look(15, after_s=0)
    look(30, after_s=0.5)
    look(50, after_s=0.6)
    assert acts == ["kill sim-1", "kill sim-3", "start sim-1", "kill head"]
    last_start["sim-1"] = 103.0
    look(50, after_s=4)
    assert storm.recoveries_s == [pytest.approx(5.1)]
    last_start["sim-3"] = 104.0
    look(50, after_s=0)
    assert len(storm.recoveries_s) == 3
    storm.resume_until(0.0)
    assert storm.count_acts("SIGKILL") == 3
