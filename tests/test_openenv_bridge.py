"""LLMServe rated by its address alone: the returns of in process, and none lost with its server."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from time import monotonic, sleep
from typing import Self

import pytest

from arena.games import registry
from arena.games.base import OVER, replay
from benchmarks.storm import oracle
from launcher.folders import ROOT
from launcher.stack import Stack, start_stack
from launcher.tools import MissingToolError, find_tool
from matches.tests.plugin_folder import SKELETONS
from tests.commands import command_line, evalsite

pytestmark = [pytest.mark.slow, pytest.mark.long]

STAND_IN, ENVIRONMENT = "stand-in", ROOT / "environments" / "llmserve"
GAME, IN_PROCESS = "llmserve_over_openenv", "llmserve_static_workload"
N_EPISODES, SLOTS, LIMIT_S = 200, 16, 400
# Of the episodes: when the server is killed. And for how many seconds it is away.
KILLED_AT, AWAY_S = 60, 2.0


class OpenEnvServer:
    """A server at a port of its own, which can be killed and started again."""

    def __init__(self, kind: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        port, self._folder = str(self.port), ROOT
        self._command = [sys.executable, "-m", "tests.openenv_llmserve", port, str(SLOTS)]
        if kind != STAND_IN:
            python, self._folder = find_tool(kind, ROOT / "var") / "bin" / "python", ENVIRONMENT
            served = ("server.app:app", "--host", "127.0.0.1", "--port", port)
            self._command = [str(python), "-m", "uvicorn", *served]
        self.start()

    def start(self) -> None:
        """Return when it listens."""
        self.process = subprocess.Popen(self._command, cwd=self._folder)
        end = monotonic() + LIMIT_S
        while True:
            assert self.process.poll() is None
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert monotonic() < end
            sleep(0.1)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@pytest.fixture(scope="module", params=[STAND_IN, "openenv-core", "openenv"])
def server(request: pytest.FixtureRequest) -> Iterator[OpenEnvServer]:
    """Run our stand-in, and the environment itself on both releases of OpenEnv."""
    try:
        running = OpenEnvServer(request.param)
    except MissingToolError:
        pytest.skip("needs ./run tools install openenv")
    with running:
        yield running


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, server: OpenEnvServer) -> Iterator[Stack]:
    """Run a stack with a head and two nodes that know the environment by its address."""
    policies = tmp_path_factory.mktemp("plugins") / "policies"
    policies.mkdir()
    text = (SKELETONS / "policy.txt").read_text()
    (policies / "centre.py").write_text(text.replace("NAME", "centre"))
    settings = {
        "EVALSITE_PLUGINS": f"{policies.parent}:{ROOT / 'examples/openenv'}",
        "EVALSITE_OPENENV_SERVERS": f"{GAME}=http://127.0.0.1:{server.port}*{SLOTS}",
    }
    var = tmp_path_factory.mktemp("var")
    with start_stack(
        var, nodes=2, slots=1, gpus=0, head=True, web=True, settings=settings
    ) as stack:
        yield stack


def evaluate(seed: int) -> list[str]:
    """Return the arguments of an evaluation of two agents on the same game seeds."""
    agents, episodes = ("--agents", "random,centre"), ("--num-matches", str(N_EPISODES))
    return ["evaluate", "--game", GAME, *agents, *episodes, "--seed", str(seed)]


def database_of(stack: Stack) -> str:
    return str(stack.plan.var / "db.sqlite3")


def assert_sound(record: oracle.Record) -> None:
    """Refuse a record in which an episode is missing, doubled, or came out otherwise than here."""
    assert record.faults == []
    assert record.n_void == 0
    assert len(record.outcomes) == record.n_planned
    assert record.n_planned % N_EPISODES == 0
    rules = registry.get(IN_PROCESS)
    for _, _, game_seed, returns, is_forfeit, *_, actions in record.outcomes.values():
        played = [int(action) for action in actions.split()]
        state = replay(rules, game_seed, played, opening_plies=0)
        assert not is_forfeit
        assert state.to_move() == OVER
        assert [float(returns)] == state.returns()


def test_episodes_through_the_address_are_those_in_process(stack: Stack) -> None:
    done = evalsite(stack, *evaluate(1), timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert_sound(oracle.read_record(database_of(stack)))


def test_a_server_that_is_killed_loses_and_doubles_none(
    stack: Stack, server: OpenEnvServer
) -> None:
    n_before = oracle.read_progress(database_of(stack)).n_outcomes
    command = command_line(*evaluate(2))
    with subprocess.Popen(command, cwd=ROOT, env=dict(stack.env), stdout=subprocess.PIPE) as child:
        wait_for_outcomes(stack, n_before + KILLED_AT)
        server.kill()
        sleep(AWAY_S)
        server.start()
        _, errors = child.communicate(timeout=LIMIT_S)
    assert child.returncode == 0, errors
    assert_sound(oracle.read_record(database_of(stack)))
    with oracle.connect(database_of(stack)) as database:
        lost = "SELECT COUNT(*) FROM matches_attempt WHERE reason = 'server_lost'"
        ((n_lost,),) = database.execute(lost).fetchall()
    # It was in the middle of some, which another attempt has ended.
    assert n_lost > 0


def wait_for_outcomes(stack: Stack, n_outcomes: int) -> None:
    end = monotonic() + LIMIT_S
    while (progress := oracle.read_progress(database_of(stack))).n_outcomes < n_outcomes:
        assert monotonic() < end, progress
        sleep(0.05)
