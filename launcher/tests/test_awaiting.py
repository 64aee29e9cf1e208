"""A start that takes long: it goes on while the programs live, and says what it waits for."""

from pathlib import Path

import pytest

from launcher.awaiting import MAX_DEATHS, Patience
from launcher.errors import SetupError
from launcher.supervision import ProgramState

LOG = Path("/var/log")


def starting(pid: int, state: str = "STARTING") -> list[ProgramState]:
    return [ProgramState("broker", "RUNNING", 7, 1_000), ProgramState("node-3", state, pid, 0)]


def test_programs_that_live_are_waited_for_without_end_and_named() -> None:
    lines: list[str] = []
    patience = Patience(LOG, lines.append, now_s=0)
    for second in range(3_600):
        patience.note(starting(8), "node-3 (starting)", now_s=second)
    assert len(lines) == 3_600 // 5 - 1
    assert set(lines) == {"waits for node-3 (starting)"}


def test_a_program_that_dies_again_and_again_ends_it_with_the_place_of_its_log() -> None:
    patience = Patience(LOG, print, now_s=0)
    for death in range(MAX_DEATHS):
        patience.note(starting(100 + death), "node-3", now_s=death)
    with pytest.raises(SetupError, match=r"node-3 .* ended 3 times: see /var/log/node-3\.log"):
        patience.note(starting(0, "BACKOFF"), "node-3", now_s=3)


def test_a_program_that_came_up_at_its_second_try_is_fine() -> None:
    patience = Patience(LOG, print, now_s=0)
    for pid in (100, 0, 101, 101):
        patience.note(starting(pid), "node-3", now_s=0)


def test_a_program_that_the_supervisor_gave_up_ends_it() -> None:
    with pytest.raises(SetupError, match="node-3 does not come up"):
        Patience(LOG, print, now_s=0).note(starting(0, "FATAL"), "node-3", now_s=0)
