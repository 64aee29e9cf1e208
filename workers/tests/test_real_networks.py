"""Matches of real networks: a real gpu worker behind a real queue, or torch in the players."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import psutil
import pytest
from celery import Celery
from msgspec.structs import replace
from safetensors.numpy import load_file, save_file

from arena.checkpoints import inspect_file, write_sealed
from arena.games import registry as games
from arena.messages import AgentOrder, Ending, MatchOrder, MatchOrderRow, Reason, ResultRow
from inference.protocol import CheckpointRef
from inference.tests.sealed import Folder, ref_of
from inference.tests.servers import Server
from workers.pool import PlayerPool
from workers.publisher import Publisher
from workers.tests.broker import OPTIONS
from workers.tests.orders import ORDER, make_order, play

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WORKER = (
    *(sys.executable, "-m", "celery", "-A", "inference", "worker", "-Q", "gpu", "-P", "threads"),
    *("-c", "1", "--prefetch-multiplier", "1", "--without-gossip", "--without-mingle", "-E"),
)
FOUR = games.get("connect_four").spec


class GpuWorker:
    """A gpu worker, on the CPU; it can be killed and started again."""

    def __init__(self, server: Server, cache: Path, log: Path) -> None:
        self.environ = {
            **os.environ,
            "REDIS_URL": server.url,
            "FAST_REDIS_URL": server.url,
            "EVALSITE_CACHE": str(cache),
            "EVALSITE_NODE_KEY": "7" * 64,
            "EVALSITE_DEVICE": "cpu",
            "EVALSITE_DETERMINISTIC": "1",
            "OMP_NUM_THREADS": "1",
        }
        self.log = log
        self.start()

    def start(self) -> None:
        with self.log.open("a") as file:
            self.process = psutil.Popen(
                WORKER, cwd=ROOT, env=self.environ, stdout=file, stderr=subprocess.STDOUT
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return Folder(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def worker(
    server: Server, folder: Folder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GpuWorker]:
    worker = GpuWorker(server, folder.store.folder, tmp_path_factory.mktemp("log") / "gpu")
    yield worker
    worker.kill()


@pytest.fixture
def pool(server: Server, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlayerPool]:
    """Two real players that ring as those of a node do."""
    monkeypatch.setenv("EVALSITE_INFERENCE_URL", server.url)
    monkeypatch.setenv("EVALSITE_CACHE", str(folder.store.folder))
    monkeypatch.setenv("EVALSITE_DETERMINISTIC", "1")
    monkeypatch.setenv("EVALSITE_RETRY_AFTER_MS", "500")
    app = Celery(broker=server.url, set_as_current=False)
    app.conf.broker_transport_options = OPTIONS
    pool = PlayerPool(2, ring=Publisher(app).publish_doorbell)
    yield pool
    pool.close()


WIDTH = 16


@pytest.fixture(scope="module")
def refs(folder: Folder) -> list[CheckpointRef]:
    """Return a feed-forward and a recurrent network."""
    shape = FOUR.observation_shape
    return [
        folder.add("mlp", {"hidden": "32"}, seed=1, shape=shape),
        folder.add("gru", {"width": WIDTH}, seed=2, shape=shape),
    ]


def agents(refs: Sequence[CheckpointRef], placement: str) -> list[AgentOrder]:
    feed_forward, recurrent = refs
    return [
        AgentOrder("network", {}, feed_forward.checkpoint, placement, feed_forward.source),
        AgentOrder("network", {}, recurrent.checkpoint, placement, recurrent.source, WIDTH),
    ]


def order_of(agents: Sequence[AgentOrder], n: int = 24) -> MatchOrder:
    limits = make_order(1).limits
    rows = [MatchOrderRow(i, 1, 7 + i // 2, [i % 2, 1 - i % 2], f"t{i}") for i in range(n)]
    return MatchOrder(ORDER, "token", "connect_four", 1, {}, 4, limits, list(agents), rows)


def essence(rows: Mapping[int, ResultRow]) -> dict[int, tuple[object, ...]]:
    return {match: (row.ending, row.ranks, row.reason, row.actions) for match, row in rows.items()}


def test_a_greedy_network_plays_the_same_on_the_queue_and_in_the_player(
    pool: PlayerPool, worker: GpuWorker, refs: list[CheckpointRef]
) -> None:
    far = play(order_of(agents(refs, "gpu")), pool).rows
    near = play(order_of(agents(refs, "local")), pool).rows
    assert {row.ending for row in far.values()} == {Ending.DONE}, worker.log.read_text()
    assert essence(far) == essence(near)
    assert len({row.actions for row in far.values()}) > 6


def test_a_gpu_worker_that_is_killed_changes_no_result(
    pool: PlayerPool, worker: GpuWorker, refs: list[CheckpointRef]
) -> None:
    undisturbed = essence(play(order_of(agents(refs, "local"), 200), pool).rows)

    def restart() -> None:
        while not any(
            match.actions
            for player in list(pool.players)
            for match in list(player.assigned.values())
        ):
            time.sleep(0.005)
        worker.kill()
        worker.start()

    killer = threading.Thread(target=restart)
    killer.start()
    rows = play(order_of(agents(refs, "gpu"), 200), pool).rows
    killer.join()
    assert essence(rows) == undisturbed


@pytest.mark.parametrize("placement", ["gpu", "local"])
def test_a_network_of_nan_forfeits_its_own_matches_only(
    pool: PlayerPool, worker: GpuWorker, refs: list[CheckpointRef], folder: Folder, placement: str
) -> None:
    broken = spoiled(folder, refs[0])
    agents_of = [*agents(refs, placement), *agents([broken, refs[1]], placement)[:1]]
    order = order_of(agents_of, 8)
    seats = [[0, 1], [1, 0], [0, 2], [2, 1]]
    rows = [
        MatchOrderRow(row.match, 1, row.game_seed, seats[row.match % 4], row.token)
        for row in order.matches
    ]
    ended = play(replace(order, matches=rows), pool).rows
    for match, row in ended.items():
        if 2 in seats[match % 4]:
            guilty = seats[match % 4].index(2)
            assert (row.ending, row.reason, row.seat) == (Ending.FORFEIT, Reason.INVALID, guilty)
        else:
            assert row.ending is Ending.DONE


def spoiled(folder: Folder, ref: CheckpointRef) -> CheckpointRef:
    """Return a sealed checkpoint whose weights are finite and whose logits are not."""
    source = folder.store.path(ref)
    seal = inspect_file(source).seal
    assert seal is not None
    tensors = {name: tensor * np.float32(1e30) for name, tensor in load_file(source).items()}
    plain, sealed = folder.store.folder / "plain", folder.store.folder / "sealed"
    save_file(tensors, plain)
    write_sealed(plain, sealed, seal)
    return folder.adopt(sealed)


@pytest.mark.parametrize("placement", ["gpu", "local"])
def test_a_checkpoint_that_nobody_has_interrupts_its_matches(
    pool: PlayerPool, worker: GpuWorker, refs: list[CheckpointRef], placement: str
) -> None:
    gone = ref_of("f" * 64)
    ended = play(order_of(agents([gone, refs[1]], placement), 4), pool).rows
    fates = {(row.ending, row.reason, row.seat) for row in ended.values()}
    assert fates == {(Ending.INTERRUPTED, Reason.GPU_LOST, -1)}, ended
