"""Lines that last from one order to the next, as long as somebody is at their other end."""

import os
from contextlib import nullcontext

import psutil
import pytest

from arena.errors import ServerLostError
from arena.games.base import OVER
from arena.games.served import ServedGame
from workers.lines.opening import Lines
from workers.tests.child_game import GAME, SPEC


def list_children() -> list[psutil.Process]:
    return psutil.Process(os.getpid()).children()


def test_a_child_is_there_before_the_first_match_and_plays_for_the_next_order_too() -> None:
    lines = Lines(os.environ, show_waiting=nullcontext)
    before, ended = set(list_children()), set[psutil.Process]()
    for _ in range(2):
        (line,) = lines.open_lines(GAME, [])
        (child,) = set(list_children()) - before
        assert child not in ended
        assert GAME.start_on(line, 1, opening_plies=0).to_move() == OVER
        assert lines.open_lines(GAME, []) == [line]
        assert set(list_children()) - before == {child}
        # As the parent of a player does when an order of another game is over.
        child.kill()
        while child.status() != psutil.STATUS_ZOMBIE:
            pass
        ended.add(child)


def test_a_child_that_does_not_start_is_met_by_the_matches() -> None:
    lines = Lines(os.environ, show_waiting=nullcontext)
    gone = ServedGame(SPEC, command=("no-such-program",))
    (line,) = lines.open_lines(gone, [])
    state = gone.start_on(line, 1, opening_plies=0)
    with pytest.raises(ServerLostError, match="no-such-program"):
        state.to_move()
