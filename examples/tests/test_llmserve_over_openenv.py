"""The catalog file of LLMServe over OpenEnv, played on a server that speaks as its own does."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from random import Random
from runpy import run_path
from time import monotonic, sleep

import pytest

from arena.games import registry
from arena.games.base import OVER, replay
from arena.games.llmserve.settings import CHOICES, TIERS
from arena.games.openenv.game import OpenEnvGame
from arena.messages import ServerLink
from gameservers.discovery.openenv import find_misfit
from tests.openenv_llmserve import FIELDS, make_schema
from workers.lines.game_line import GameLine
from workers.lines.opening import Lines

ROOT = Path(__file__).parents[2]
GAME: OpenEnvGame = run_path(
    str(ROOT / "examples" / "openenv" / "games" / "llmserve_over_openenv.py")
)["GAME"]
TASKS = ("static_workload", "bursty_workload", "adversarial_multitenant")
LIMIT_S = 30


@pytest.fixture(scope="module")
def line() -> Iterator[GameLine]:
    """Run the server; return a line to it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "tests.openenv_llmserve", port, "4"]
    with subprocess.Popen(command, cwd=ROOT) as server:
        end, is_open = monotonic() + LIMIT_S, False
        while not is_open and monotonic() < end:
            with suppress(OSError), socket.create_connection(("127.0.0.1", int(port)), 1):
                is_open = True
            sleep(0.05)
        lines = Lines({}, show_waiting=nullcontext)
        (opened,) = lines.open_lines(GAME, [ServerLink("sim", f"ws://127.0.0.1:{port}/ws", "")])
        yield opened
        opened.close()
        server.kill()


@pytest.mark.parametrize("task", TASKS)
def test_its_episodes_are_those_in_process_to_the_last_bit(line: GameLine, task: str) -> None:
    rng, game = Random(task), GAME.configured({"task_id": task})
    seeds = [rng.getrandbits(63) for _ in range(2)]
    states = [game.start_on(line, seed, opening_plies=0) for seed in seeds]
    while any(state.to_move() != OVER for state in states):
        for state in states:
            state.apply(rng.choice(state.legal_actions()))
    for seed, state in zip(seeds, states, strict=True):
        here = replay(registry.get(f"llmserve_{task}"), seed, state.actions, opening_plies=0)
        assert here.to_move() == OVER
        assert state.returns() == here.returns()


def test_an_interrupted_episode_goes_on_where_it_was(line: GameLine) -> None:
    actions = [0, 3, 2, 1, 0, 1] * 40 + [2, 2]
    state = GAME.start_on(line, 7, opening_plies=0, actions=actions)
    here = replay(registry.get("llmserve_static_workload"), 7, actions, opening_plies=0)
    while state.to_move() != OVER:
        assert list(state.legal_actions()) == list(here.legal_actions())
        for one in (state, here):
            one.apply(1)
    assert state.returns() == here.returns()


def test_its_spaces_fit_the_server_and_its_choices_are_those_in_process() -> None:
    assert find_misfit(GAME, make_schema()) == ""
    assert tuple(GAME.layout.fields) == FIELDS
    choices: list[list[object]] = [list(values) for values in CHOICES]
    choices[3] = [*TIERS]
    assert [list(values) for values in GAME.layout.fields.values()] == choices
    assert GAME.spec.max_steps == registry.get("llmserve_static_workload").spec.max_steps
