"""What agents start does not outlive their order, and what they take does not fail others."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from arena.messages import Ending, Reason
from workers.orphans import adopt_orphans, end_orphans
from workers.player_process import living_players
from workers.pool import PlayerPool
from workers.tests.fake_player import COMMAND
from workers.tests.fakes import left_behind
from workers.tests.orders import fake, make_order, play

pytestmark = pytest.mark.slow


@pytest.fixture
def adopting() -> Iterator[None]:
    """Be told of orphans, as a play node is."""
    adopt_orphans()
    yield
    adopt_orphans(adopt=False)
    for one in orphans():
        one.kill()


def orphans() -> list[psutil.Process]:
    """Return what agents left behind; what is dead but for its parent has no command."""
    command = left_behind(os.getpid())
    return [one for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == command]


@pytest.mark.usefixtures("adopting")
@pytest.mark.parametrize("what", ["detach", "child"])
def test_nothing_that_an_agent_started_outlives_its_order(pool: PlayerPool, what: str) -> None:
    order = make_order(4, agents=[fake(), fake(what, at=1)])
    assert {row.ending for row in play(order, pool).rows.values()} == {Ending.DONE}
    assert orphans() == []
    assert all(player.read_usage() for player in pool.players), "players play on"


@pytest.mark.usefixtures("adopting")
def test_what_a_lost_player_left_behind_ends_with_it(pool: PlayerPool) -> None:
    psutil.Popen(left_behind(os.getpid()), start_new_session=True)
    player = pool.players[0]
    pool.dismiss_player(player)
    player.close()
    assert orphans() == []


def test_what_is_in_our_own_session_is_never_ended(pool: PlayerPool) -> None:
    ours = psutil.Popen(left_behind(os.getpid()))
    try:
        assert end_orphans([player.pid for player in pool.players], with_children=True) == 0
        assert ours.poll() is None
    finally:
        ours.kill()
        ours.wait()


def test_memory_over_the_limit_fails_the_call_and_names_its_seat() -> None:
    pool = PlayerPool(1, command=COMMAND, player_mb=256)
    pool.start_missing_players()
    first = pool.players[0].pid
    rows = play(make_order(7, agents=[fake(), fake("hoard", every=3, at=1)]), pool).rows
    for match in (102, 105):
        row = rows.pop(match)
        assert (row.ending, row.reason, row.seat) == (Ending.FAILED, Reason.CRASH, 1)
        assert "MemoryError" in row.detail
    assert {row.ending for row in rows.values()} == {Ending.DONE}
    assert pool.players[0].pid != first, "what it keeps would fail others"
    pool.close()


def test_each_player_keeps_one_child_that_plays_its_game() -> None:
    game, other = left_behind(os.getpid()), ["sleep", "96"]
    program = (
        f"import subprocess as s; [s.Popen(c) for c in {[game, game, other]}]; print(); input()"
    )
    command = [sys.executable, "-c", program]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, start_new_session=True, stdin=pipe, stdout=pipe) as player:
        assert player.stdout is not None
        player.stdout.readline()
        players = living_players | {player.pid}
        assert end_orphans(players, with_children=True, spared=game) == 2
        # The other two are dead but for their parent, which has not asked for them.
        alive = [
            one
            for one in psutil.Process(player.pid).children()
            if one.status() != psutil.STATUS_ZOMBIE
        ]
        assert [one.cmdline() for one in alive] == [game]
        assert end_orphans(players, with_children=True) == 1
        player.kill()
