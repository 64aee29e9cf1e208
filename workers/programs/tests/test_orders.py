"""Orders of agents that are programs, in real players: who pays when one misbehaves."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread

import psutil
import pytest

from arena.messages import AgentOrder, Ending, Limits, MatchOrder, MatchOrderRow, Reason, ResultRow
from workers.pool import PlayerPool
from workers.programs.tests.agents import find_command
from workers.tests.orders import ORDER, play

pytestmark = pytest.mark.slow

RANDOM = AgentOrder("random", {})
HELLO = """read hello; echo '{"type":"hello"}'; """
KILLED = Ending.FAILED, Reason.CRASH
LANGUAGES = pytest.mark.parametrize("language", ["c", "javascript"])


def program(name: str, policy: str = "program") -> AgentOrder:
    return AgentOrder(policy, {"program": name})


def order_of(agents: Sequence[AgentOrder], seats: Sequence[tuple[int, int]]) -> MatchOrder:
    rows = [
        MatchOrderRow(100 + i, 1, i + 1, list(two), f"token-{i}") for i, two in enumerate(seats)
    ]
    return MatchOrder(
        order=ORDER,
        token="order-token",
        game="connect_four",
        rules_version=1,
        game_parameters={},
        opening_plies=2,
        limits=Limits(move_s=1.0, match_s=60.0),
        agents=list(agents),
        matches=rows,
    )


@pytest.fixture
def pool() -> Iterator[PlayerPool]:
    # A stack that other tests of this process share may be up.
    others = find_children()
    pool = PlayerPool(2)
    yield pool
    pool.close()
    assert set(find_children()) <= set(others)


def find_children() -> list[psutil.Process]:
    """Return the processes that our players have started."""
    return [
        child
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and os.getsid(child.pid) != os.getsid(0)
    ]


def fates(rows: dict[int, ResultRow]) -> list[tuple[Ending, Reason, int]]:
    return [(row.ending, row.reason, row.seat) for _, row in sorted(rows.items())]


DONE = (Ending.DONE, Reason.NONE, -1)


@LANGUAGES
@pytest.mark.parametrize(
    ("fault", "fate", "detail"),
    [
        ("die", (Ending.FORFEIT, Reason.CRASH), "twice over one decision: it exited with "),
        # A time-out is proved by another attempt, as that of every agent.
        ("hang", (Ending.FAILED, Reason.TIMEOUT), "seat 0 took over 1 s for one step"),
        ("lie", (Ending.FORFEIT, Reason.ILLEGAL), "action 999999 is not in 0..6"),
        ("babble", (Ending.FORFEIT, Reason.INVALID), "no message: "),
    ],
)
def test_who_misbehaves_pays_and_nobody_else(
    language: str,
    fault: str,
    fate: tuple[Ending, Reason],
    detail: str,
    pool: PlayerPool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = find_command(language, tmp_path)
    monkeypatch.setenv("EVALSITE_PROGRAMS", f"good={command}; bad={command} {fault} 4")
    order = order_of([program("bad"), program("good"), RANDOM], [(0, 2), (1, 2), (1, 1), (2, 1)])
    rows = play(order, pool).rows
    assert fates(rows) == [(*fate, 0), DONE, DONE, DONE]
    assert detail in rows[100].detail
    # A player that had to be killed may not have told its last moves.
    assert rows[100].n_steps == 4 or fault == "hang"


@LANGUAGES
def test_one_that_somebody_kills_is_started_again_and_pays_nothing(
    language: str, pool: PlayerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSITE_PROGRAMS", f"good={find_command(language, tmp_path)}")
    killed: list[int] = []

    def kill_one() -> None:
        until = time.monotonic() + 30
        while not killed and time.monotonic() < until:
            time.sleep(0.1)
            programs = [one for one in find_children() if one.name() in {"pick", "node"}]
            for one in programs[:1]:
                one.send_signal(signal.SIGKILL)
                killed.append(one.pid)

    killer = Thread(target=kill_one)
    killer.start()
    slow = AgentOrder("mcts", {"simulations": 1_000})
    rows = play(order_of([program("good"), slow], [(0, 1)] * 12), pool).rows
    killer.join()
    assert len(killed) == 1
    assert fates(rows) == [DONE] * 12


def test_one_that_is_killed_over_and_over_is_charged_by_another_attempt(
    pool: PlayerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "bad.sh"
    script.write_text(f"{HELLO}\nread decide; kill -KILL $$\n")
    monkeypatch.setenv("EVALSITE_PROGRAMS", f"bad=/bin/sh {script}")
    rows = play(order_of([program("bad"), RANDOM], [(0, 1), (1, 1)]), pool).rows
    assert fates(rows) == [(*KILLED, 0), DONE]
    assert "signal 9" in rows[100].detail


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        ("other=cat", "program 'bad' is not listed here"),
        ("bad=/no/such/program", "program 'bad' cannot be started"),
        ("bad=http://127.0.0.1:1", "program 'bad' is an address"),
        ("bad=/bin/sh -c 'exit 9'", "program 'bad' does not start: it exited with 9"),
        ("bad=/bin/echo hello", "program 'bad' does not start: no message"),
    ],
)
def test_one_that_is_not_there_is_nobodys_fault(
    listed: str, why: str, pool: PlayerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSITE_PROGRAMS", listed)
    rows = play(order_of([program("bad"), RANDOM], [(0, 1), (1, 1)]), pool).rows
    assert fates(rows) == [(Ending.INTERRUPTED, Reason.PROGRAM_LOST, -1), DONE]
    assert why in rows[100].detail


@pytest.mark.long
def test_one_that_says_no_hello_in_time_is_nobodys_fault(
    pool: PlayerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSITE_PROGRAMS", "bad=/bin/sleep 60")
    rows = play(order_of([program("bad"), RANDOM], [(0, 1), (1, 1)]), pool).rows
    assert fates(rows) == [(Ending.INTERRUPTED, Reason.PROGRAM_LOST, -1), DONE]
    assert "no answer within 20 s" in rows[100].detail


def test_an_address_that_does_not_answer_is_nobodys_fault(
    pool: PlayerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSITE_PROGRAMS", "far=http://127.0.0.1:1/decide")
    rows = play(order_of([program("far", "http_agent"), RANDOM], [(0, 1), (1, 1)]), pool).rows
    assert fates(rows) == [(Ending.INTERRUPTED, Reason.PROGRAM_LOST, -1), DONE]
    assert "http://127.0.0.1:1: " in rows[100].detail
