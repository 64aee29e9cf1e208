"""Simulators that fail in the middle of a battle, and battles without an end: nobody is charged."""

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from arena.games import registry as games
from arena.games.served import ServedGame
from arena.games.showdown.game import DRIVER
from arena.messages import AgentOrder, Ending, Reason
from tests.catalogs import needs_simulator
from workers.lines.opening import Lines
from workers.message_buffer import MessageBuffer
from workers.order_setup import Catalogs, build_setup
from workers.runner import MatchRunner
from workers.tests.runners import Lookout, PlayerReports, fate, items
from workers.wire import Prepare

pytestmark = [needs_simulator, pytest.mark.slow]

GAME = "showdown_gen1random"
N_BATTLES, AT_FRAME = 3, 20
RANDOM = [AgentOrder("random", {}), AgentOrder("random", {})]
# Before a frame is written: what the driver does once, and what it would say.
SPOILED = """
const write = process.stdout.write.bind(process.stdout);
let nFrames = 0;
process.stdout.write = (frame) => {{
  if (++nFrames === {at}) {{ {deed} }}
  return write(frame);
}};
require({driver});
"""
DIE = "console.error('out of luck'); process.exit(3);"
HANG = "for (;;);"
MUTE = "return true;"
NONSENSE = 'return write(\'[{"kind": "state", "episode": 1, "step": 99, "seat": 7}]\\n\');'
GARBAGE = "return write('Segmentation fault\\n');"


def spoil(deed: str, *, at: int = AT_FRAME) -> ServedGame:
    """Return the game with a driver that does something at a frame; its first one is its hello."""
    game = games.get(GAME)
    assert isinstance(game, ServedGame)
    node, _, *arguments = game.command
    code = SPOILED.format(at=at, deed=deed, driver=json.dumps(str(DRIVER)))
    # As `node FILE` would have it: what is given begins with the third.
    return ServedGame(game.spec, command=(node, "-e", code, "-", *arguments))


class Stage:
    """A player with the lines of a real one."""

    def __init__(self, lookout: Lookout, *, answer_s: float) -> None:
        environ = {**os.environ, "EVALSITE_SERVER_S": str(answer_s)}
        self._lines, self._lookout = Lines(environ, show_waiting=nullcontext), lookout

    def play(self, game: ServedGame, n: int = N_BATTLES, *, first: int = 0) -> PlayerReports:
        reports = PlayerReports()
        buffer = MessageBuffer(reports)
        catalogs = Catalogs(
            game=lambda _: game, lines=self._lines.open_lines, game_version=lambda _: ""
        )
        prepare = Prepare(1, GAME, game.spec.rules_version, {}, 0, RANDOM, None)
        runner = MatchRunner(build_setup(prepare, catalogs), self._lookout, buffer)
        runner.add_matches(items(first + n)[first:])
        while runner.is_busy:
            runner.step()
        buffer.flush()
        return reports


@pytest.mark.parametrize(
    ("deed", "ending", "reason", "detail", "answer_s"),
    [
        (DIE, Ending.INTERRUPTED, Reason.SERVER_LOST, "it exited with 3: out of luck", 60.0),
        (HANG, Ending.FAILED, Reason.SERVER_FAULT, "has said nothing for", 2.0),
        (MUTE, Ending.FAILED, Reason.SERVER_FAULT, "has said nothing for", 2.0),
        (NONSENSE, Ending.FAILED, Reason.SERVER_FAULT, "a state after 99 actions", 10.0),
        (GARBAGE, Ending.FAILED, Reason.SERVER_FAULT, "JSON", 60.0),
    ],
    ids=["dies", "hangs", "says nothing", "answers nonsense", "writes no frame"],
)
def test_a_simulator_that_fails_in_the_middle_is_charged_to_no_seat(
    lookout: Lookout, deed: str, ending: Ending, reason: Reason, detail: str, answer_s: float
) -> None:
    stage = Stage(lookout, answer_s=answer_s)
    reports = stage.play(spoil(deed))
    rows = [row for row in reports.ended.values() if row.ending is not Ending.DONE]
    assert rows
    assert {fate(row)[:3] for row in rows} == {(ending, reason, -1)}
    assert any(detail in row.detail for row in rows), rows[0].detail
    assert all(row.ranks == [] for row in rows)


def test_what_begins_after_a_simulator_died_is_played_by_a_new_one(lookout: Lookout) -> None:
    stage = Stage(lookout, answer_s=60.0)
    game = spoil(DIE)
    assert {row.ending for row in stage.play(game).ended.values()} == {Ending.INTERRUPTED}
    # Its deed is due at a frame that one battle alone does not reach before its end.
    again = stage.play(spoil(DIE, at=10_000), 1, first=7)
    assert {row.ending for row in again.ended.values()} == {Ending.DONE}


def test_another_version_of_the_package_is_told_in_one_line(
    lookout: Lookout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "node_modules" / "pokemon-showdown"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.10.0"}')
    monkeypatch.setenv("EVALSITE_SHOWDOWN", str(tmp_path))
    game = games.get(GAME)
    assert isinstance(game, ServedGame)
    rows = Stage(lookout, answer_s=60.0).play(game).ended.values()
    assert {fate(row)[:3] for row in rows} == {(Ending.INTERRUPTED, Reason.SERVER_LOST, -1)}
    first = min(rows, key=lambda row: row.index).detail
    assert "pokemon-showdown 0.10.0 is in" in first
    assert "./run tools install showdown" in first
