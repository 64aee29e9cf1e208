"""Players that talk nonsense or cannot start, and parents that stand still or die."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from arena.messages import Ending, Reason
from workers import scheduler
from workers.doorbells import BURST, ignore_doorbell
from workers.pool import PlayerPool
from workers.tests.child_game import COMMAND, GAME
from workers.tests.orders import make_order, play

pytestmark = pytest.mark.slow


def pool_of(
    program: str,
    clock: Callable[[], float] = time.monotonic,
    ring: Callable[[int, str], None] = ignore_doorbell,
) -> PlayerPool:
    """Return a pool whose players run this instead; it sends a message by `say`."""
    start = "import socket, sys, time; channel = socket.socket(fileno=int(sys.argv[1]));"
    say = "say = lambda text: channel.sendall(len(text).to_bytes(4) + text);"
    command = (sys.executable, "-c", start + say + program)
    return PlayerPool(1, command=command, clock=clock, ring=ring)


ENDS = """say(b'["progress",[],[[0,"failed",[],"error",-1,"",0]]]');"""


def test_a_ring_goes_out_but_not_more_often_than_an_honest_player_rings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rung: list[tuple[int, str]] = []
    rings = f"""[say(b'["ring",3,"1a"]') for _ in range({int(BURST) + 50})];"""
    hello = """say(b'["ready"]'); say(b'["prepared",1,false]'); time.sleep(0.05);"""
    program = f"{hello} channel.recv(9999); {rings} {ENDS} time.sleep(60)"
    pool = pool_of(program, clock=lambda: 7.0, ring=lambda *rang: rung.append(rang))
    play(make_order(1), pool)
    pool.close()
    assert rung == [(3, "1a")] * int(BURST)
    assert "rings too often" in caplog.text


@pytest.mark.parametrize(
    "nonsense",
    [
        "not json",
        '["progress",[0,1],[]]',
        '["progress",[0,1,0,1],[]]',
        '["progress",[7,1,0],[]]',
        '["progress",[],[[0,"done",[0],"",-1,"",0]]]',
        '["progress",[],[[0,"forfeit",[0,1],"crash",2,"",0]]]',
        '["progress",[],[[0,"failed",[0,1],"error",-1,"",0]]]',
        '["progress",[],[[0,"interrupted",[],"returned",-1,"",0]]]',
        '["progress",[],[[0,"interrupted",[0,1],"gpu_lost",-1,"",0]]]',
        '["progress",[],[[0,"done",[0,1],"",-1,"",0,"no hash"]]]',
        '["ring",1024,"1a"]',
        '["ring",-1,"1a"]',
        '["ring",0,"a lease"]',
    ],
)
def test_a_player_that_talks_nonsense_is_replaced_and_not_believed(nonsense: str) -> None:
    hello = """say(b'["ready"]'); say(b'["prepared",1,false]'); time.sleep(0.05);"""
    pool = pool_of(f"{hello} channel.recv(9999); say({nonsense.encode()!r}); time.sleep(60)")
    begun_at = time.monotonic()
    posted = play(make_order(1), pool)
    # It was ended three times: nobody waited until it left by itself.
    assert time.monotonic() - begun_at < 60
    pool.close()
    assert (posted.rows[100].ending, posted.rows[100].reason) == (Ending.FAILED, Reason.ERROR)
    assert "lost 3 times" in posted.rows[100].detail


def test_a_node_that_cannot_start_players_gives_its_order_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def clock() -> float:
        return 100 * time.monotonic()

    pool = pool_of("sys.exit(3)", clock)
    posted = play(make_order(3), pool, clock=clock)
    pool.close()
    assert posted.rows == {}
    assert posted.results[-1].is_last
    assert "exited with 3 before it was ready" in caplog.text
    assert "goes back" in caplog.text


def test_a_player_that_hangs_before_it_is_ready_does_not_hold_the_order(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def clock() -> float:
        return 200 * time.monotonic()

    monkeypatch.setattr(scheduler, "STILL_S", 0.3)
    pool = pool_of("time.sleep(60)", clock)
    posted = play(make_order(3), pool, clock=clock)
    pool.close()
    assert posted.rows == {}
    assert posted.results[-1].is_last
    assert "did nothing for 0.3 s" in caplog.text


@pytest.mark.parametrize(
    ("script", "detail"),
    [
        ("""say(b'["ready"]');""", "3 players had to be killed while they set it up"),
        ("""say(b'["ready"]'); say(b'["prepared",1,false]');""", "lost 3 times"),
    ],
)
def test_a_player_that_hangs_between_calls_does_not_hold_the_order(
    script: str, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "STILL_S", 0.5)
    pool = pool_of(f"{script} time.sleep(60)")
    posted = play(make_order(2), pool)
    pool.close()
    assert {row.ending for row in posted.rows.values()} == {Ending.FAILED}
    assert detail in posted.rows[100].detail


PARENT = """
import sys
import time
from threading import Thread

from arena.messages import Limits
from workers.current_call import Phase
from workers.pool import PlayerPool
from workers.tests.fake_player import COMMAND
from workers.tests.fake_networks import network
from workers.tests.orders import fake, make_order, play

def tell():
    while pool.players[0].read_call().phase not in (Phase.GAME, Phase.POLICY):
        time.sleep(0.01)
    print("playing", flush=True)

pool = PlayerPool(1, command=COMMAND)
pool.start_missing_players()
print(pool.players[0].pid, flush=True)
Thread(target=tell).start()
limits = Limits(move_s=1.0, match_s=60)
order = make_order(1, agents=[fake(sys.argv[1])] * 2, step_s=sys.argv[2], steps=1, limits=limits)
print(play(order, pool).rows[100].ending.value, flush=True)
pool.close()
"""


def start_parent(what: str, step_s: float) -> tuple[subprocess.Popen[str], int]:
    """Return a parent whose only player is playing, and that player's pid."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, what, str(step_s)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert parent.stdout.readline() == "playing\n"
    return parent, pid


@pytest.mark.parametrize(("stop_s", "ending"), [(1.0, "done"), (0.01, "failed")])
def test_the_time_in_which_the_parent_stands_still_is_not_charged(
    stop_s: float, ending: str
) -> None:
    parent, _ = start_parent("nothing", 1.4)
    time.sleep(0.2)
    os.kill(parent.pid, signal.SIGSTOP)
    time.sleep(stop_s)
    os.kill(parent.pid, signal.SIGCONT)
    output, _ = parent.communicate(timeout=30)
    assert output == f"{ending}\n"


@pytest.mark.parametrize("what", ["spin", "sleep"])
def test_no_player_outlives_a_killed_parent(what: str) -> None:
    parent, pid = start_parent(what, 0)
    player = psutil.Process(pid)
    parent.kill()
    parent.communicate()
    assert player.wait(timeout=5) is None


def test_a_game_with_a_child_process_is_played_by_as_many_players_as_there_are_cores() -> None:
    pool = PlayerPool(3, command=COMMAND, n_cores=1)
    while not pool.players or not all(player.is_ready for player in pool.players):
        play(make_order(1), pool)
    posted = play(make_order(9, game=GAME.spec.id), pool)
    assert {row.ending for row in posted.rows.values()} == {Ending.DONE}
    assert [player.is_asked for player in pool.players] == [True, False, False]
    (child,) = find_children(pool)
    # The same one plays the next order, also where its player was ready before those ahead of it.
    pool.players.reverse()
    play(make_order(9, game=GAME.spec.id), pool)
    assert find_children(pool) == [child]
    play(make_order(30, step_s=0.01), pool)
    assert all(player.is_asked for player in pool.players)
    pool.close()


def test_a_player_that_still_starts_keeps_its_share_of_matches_that_are_all_in_play(
    tmp_path: Path,
) -> None:
    program = f"""
import json, socket, sys, time
try:
    open({str(tmp_path / "first")!r}, "x").close()
except FileExistsError:
    time.sleep(60)
channel = socket.socket(fileno=int(sys.argv[1]))
say = lambda said: channel.sendall(len(said := json.dumps(said).encode()).to_bytes(4) + said)
say(["ready"])
say(["prepared", 1, True])
while size := channel.recv(4, socket.MSG_WAITALL):
    kind, *rest = json.loads(channel.recv(int.from_bytes(size), socket.MSG_WAITALL))
    if kind == "assign":
        indices = [assignment[0] for assignment in rest[0]]
        with open({str(tmp_path / "shares")!r}, "a") as file:
            print(len(indices), file=file)
        say(["progress", [], [[i, "failed", [], "error", -1, "", 0] for i in indices]])
"""
    pool = PlayerPool(2, command=(sys.executable, "-c", program), n_cores=2)
    play(make_order(8), pool)
    pool.close()
    assert (tmp_path / "shares").read_text().split() == ["4", "2", "1", "1"]


def find_children(pool: PlayerPool) -> list[psutil.Process]:
    """Return what the players of a pool have started."""
    return [child for player in pool.players for child in psutil.Process(player.pid).children()]
