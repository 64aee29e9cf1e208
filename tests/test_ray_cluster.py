"""RLlib on a cluster of two nodes learns from the platform's own segments, and plays on its board.

Needs `./run tools install ray`; where it is missing it is skipped, saying so.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

import numpy as np
import psutil
import pytest

from arena.experience.checking import check_chunk
from arena.experience.chunks import UNKNOWN_VERSION, Chunk
from arena.experience.segments import SentChunk, write_segment
from arena.games import registry
from arena.games.base import OVER
from arena.trajectories import TrajectorySpec
from launcher.errors import SetupError
from launcher.folders import ROOT
from launcher.stack import Stack, start_stack
from launcher.tools import find_tool
from tests.commands import evalsite
from training.engines.catalog.ray import make_environment

pytestmark = [pytest.mark.slow, pytest.mark.long]

DATA: Final = ROOT / "var"
GAME: Final = "cart_pole"
BOARD: Final = "ray"
N_EPISODES: Final = 120
MOST_STEPS: Final = 500
SOLVED: Final = 195.0
LIMIT_S: Final = 900.0
N_TRIES: Final = 3
# A checkpoint is looked at by a gpu worker before it plays.
SHAPE: Final[dict[str, Any]] = {"nodes": 1, "slots": 2, "gpus": 1}
STORE_BYTES: Final = 100_000_000
# Of its actions, so many are drawn: a good player and one that is not.
NOISE: Final = (0.05, 0.4)


@pytest.fixture(scope="module")
def ray_programs() -> Path:
    """Return the folder of the tool's programs."""
    try:
        return find_tool("ray", DATA) / "bin"
    except SetupError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def cluster(ray_programs: Path) -> Iterator[str]:
    """Run two nodes of one CPU; return their address."""
    with ExitStack() as nodes:
        # A socket's path may have 107 letters, of which Ray takes 60.
        folder = Path(nodes.enter_context(TemporaryDirectory(prefix="ray-")))
        port = find_port()
        address = f"127.0.0.1:{port}"
        head = ["--head", "--port", str(port), "--include-dashboard", "false"]
        head += ["--temp-dir", str(folder)]
        nodes.enter_context(running_node(ray_programs, folder / "head.log", *head))
        nodes.enter_context(running_node(ray_programs, folder / "node.log", "--address", address))
        yield address


def find_port() -> int:
    """Return a free port that Ray does not give to its workers (10002 to 19999)."""
    for port in range(20_000, 30_000):
        with socket.socket() as one, suppress(OSError):
            one.bind(("", port))
            return port
    raise AssertionError("no port is free")


@contextmanager
def running_node(programs: Path, log: Path, *options: str) -> Iterator[None]:
    """Run `ray start`, and end it with all that it has started."""
    # Ray gives a node 30 s to start, which a busy machine may miss.
    node = next(filter(None, (start_node(programs, log, *options) for _ in range(N_TRIES))), None)
    assert node, log.read_text()[-3_000:]
    try:
        yield
    finally:
        end_node(node)


def start_node(programs: Path, log: Path, *options: str) -> "subprocess.Popen[bytes] | None":
    """Return a node that is up; None where it gave up."""
    what = ("--num-cpus", "1", "--object-store-memory", str(STORE_BYTES), *options)
    # Ray lets its workers give way to all other programs.
    own = {"RAY_worker_niceness": "0", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as lines:
        node = subprocess.Popen(
            [programs / "ray", "start", "--block", *what],
            env={**make_environment(os.environ), **own},
            stdout=lines,
            stderr=lines,
        )
    until_s = time.monotonic() + LIMIT_S
    while "Ray runtime started" not in log.read_text():
        if node.poll() is not None or time.monotonic() > until_s:
            end_node(node)
            return None
        time.sleep(0.1)
    return node


def end_node(node: "subprocess.Popen[bytes]") -> None:
    with suppress(psutil.NoSuchProcess):
        started = psutil.Process(node.pid).children(recursive=True)
        node.terminate()
        _, alive = psutil.wait_procs(started, timeout=30)
        for process in alive:
            process.kill()
    node.kill()
    node.wait()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with start_stack(tmp_path_factory.mktemp("stack"), web=True, **SHAPE) as running:
        yield running


def play_episode(number: int, noise: float, rng: np.random.Generator) -> Chunk:
    """Return an episode by a rule and noise."""
    state = registry.get(GAME).start(int(rng.integers(2**31)), opening_plies=0)
    rows: list[tuple[Any, ...]] = []
    while state.to_move() != OVER:
        observation = np.array(state.observation(0), np.float32)
        action = int(observation[2] + 0.3 * observation[3] > 0)
        if rng.random() < noise:
            action = int(rng.integers(2))
        state.apply(action)
        rows.append((observation, np.array(state.observation(0), np.float32), action))
    return build_chunk(number, rows)


def build_chunk(number: int, rows: list[tuple[Any, ...]]) -> Chunk:
    n = len(rows)
    observations, after, actions = (np.array(column) for column in zip(*rows, strict=True))
    is_last = np.arange(n) == n - 1
    is_cut = n == MOST_STEPS
    chunk = Chunk(
        game=GAME,
        chunk_id=UUID(int=number + 1).hex,
        policy_version=UNKNOWN_VERSION,
        episodes=np.full(n, number, np.int64),
        steps=np.arange(n, dtype=np.int32),
        observations=observations,
        next_observations=after,
        actions=actions.astype(np.int32),
        rewards=np.ones(n, np.float32),
        terminated=is_last & (not is_cut),
        truncated=is_last & is_cut,
        log_probs=np.full(n, np.nan, np.float32),
    )
    check_chunk(chunk, registry.get(GAME).spec)
    return chunk


def write_segments(folder: Path) -> tuple[list[str], float]:
    """Write what a good and a noisy player did to two segments; return them and the mean return."""
    rng = np.random.default_rng(1)
    spec = registry.get(GAME).spec
    form = TrajectorySpec(GAME, spec.observation_shape, spec.n_actions)
    paths, returns = [], []
    for user, noise in enumerate(NOISE):
        sent = []
        for episode in range(N_EPISODES // len(NOISE)):
            number = user * N_EPISODES + episode
            chunk = play_episode(number, noise, rng)
            sent.append(SentChunk(user + 1, chunk))
            returns.append(len(chunk))
        paths.append(folder / f"segment-{user}.parquet")
        write_segment(paths[-1], sent, form)
    return [str(path) for path in paths], float(np.mean(returns))


def learn(engine: str, segments: list[str], out: Path, **environment: str) -> str:
    """Return what the command prints."""
    what = ("--engine", engine, "--game", GAME, "--passes", "6", "--out", str(out))
    done = subprocess.run(
        [sys.executable, "-m", "training.offline", *what, *segments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ray_on_two_nodes_learns_cart_pole_and_its_checkpoint_plays_on_the_board(
    cluster: str, stack: Stack, tmp_path: Path
) -> None:
    segments, taught = write_segments(tmp_path)
    out = tmp_path / "poles.safetensors"
    output = learn("ray", segments, out, RAY_ADDRESS=cluster)
    nodes = output.partition(" learned on ")[2].partition(", loss")[0].split(", ")
    assert len(set(nodes)) == 2, output
    learn("torch", segments, tmp_path / "torch.safetensors")
    for name, file in (("by-ray", out), ("by-torch", tmp_path / "torch.safetensors")):
        done = evalsite(stack, "upload", str(file), "--name", name, "--wait", timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr
    opened = evalsite(stack, "open", BOARD, "--game", GAME)
    assert opened.returncode == 0, opened.stderr
    agents = ("--agents", "by-ray,by-torch,random", "-l", BOARD, "--num-matches", "60")
    done = evalsite(stack, "evaluate", "--game", GAME, *agents, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    board = evalsite(stack, "--json", "board", BOARD)
    scores = {row["agent"]["name"]: row["mean_score"] for row in json.loads(board.stdout)}
    sys.stdout.write(f"taught {taught:.1f}, {scores}\n")
    assert scores["by-ray"] >= SOLVED
    assert scores["by-torch"] >= SOLVED > scores["random"]
