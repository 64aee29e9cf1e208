"""A real head beside a real gpu worker and players: what it answers, and what its death costs."""

import asyncio
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import psutil
import pytest

from arena.policies.sampling import choose_greedy
from benchmarks.head import (
    GAME,
    N_ACTIONS,
    N_ROWS,
    SHAPE,
    Way,
    ask_for_a_while,
    drawn_rows,
    make_request,
    make_token,
)
from benchmarks.networks import Checkpoint, Forward, Size, write_checkpoint
from benchmarks.served.servers import GAME as SERVED
from benchmarks.served.servers import ReferenceServer, write_catalog
from benchmarks.stacks import wait_until
from benchmarks.storm import long_matches
from benchmarks.storm.served import await_servers, read_by_server
from launcher.stack import Stack, start_stack
from tests.commands import evalsite

pytestmark = [pytest.mark.slow, pytest.mark.long]

N_CALLERS, N_MATCHES = 32, 200
LIMIT_S = 120.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stack")
    write_catalog(path)
    long_matches.write_policy(path, 0.002)
    return path


@pytest.fixture(scope="module")
def checkpoint(folder: Path) -> Checkpoint:
    seal = Size("small", 64, 2).seal(GAME, SHAPE, N_ACTIONS)
    return write_checkpoint(seal, folder / "cache", seed=1)


@pytest.fixture(scope="module")
def stack(folder: Path, checkpoint: Checkpoint) -> Iterator[Stack]:
    settings = {
        "EVALSITE_CACHE": str(folder / "cache"),
        "EVALSITE_PLUGINS": str(folder / "plugins"),
        "OMP_NUM_THREADS": "1",
    }
    shape: Any = {"nodes": 1, "slots": 1, "gpus": 1, "web": True, "head": True}
    with start_stack(folder / "var", settings=settings, **shape) as running:
        yield running


def read_stats(stack: Stack) -> dict[str, Any]:
    with urlopen(f"http://127.0.0.1:{stack.plan.ports.head}/stats", timeout=10) as answer:
        stats: dict[str, Any] = json.load(answer)
        return stats


def answers(stack: Stack) -> bool:
    try:
        return bool(read_stats(stack))
    except OSError:
        return False


def test_callers_share_forwards_of_the_gpu_worker_and_get_the_same_actions_again(
    stack: Stack, checkpoint: Checkpoint
) -> None:
    wait_until(lambda: answers(stack), limit_s=LIMIT_S, what="the start of the head")
    rows, masks = drawn_rows()
    expected = choose_greedy(Forward(checkpoint.path).answer_logits(rows), masks)
    way = Way(stack.plan.ports.head, make_token(stack, checkpoint))
    bodies = [make_request(way, rows[n], masks[n]) for n in range(N_ROWS)]
    # Each caller goes through its rows more than once; each answer is compared.
    asyncio.run(ask_for_a_while(way, bodies, expected.astype(np.int32), N_CALLERS, 5.0))
    stats = read_stats(stack)
    assert len(way.latencies_ms) > 2 * N_ROWS
    assert way.n_wrong == 0
    assert stats["requests"] == stats["rows"] == len(way.latencies_ms)
    assert stats["batches"] < stats["requests"] / 2


def test_a_head_that_is_killed_amid_a_tournament_loses_no_match_and_keeps_its_history(
    stack: Stack, folder: Path
) -> None:
    url, head = str(folder / "var" / "db.sqlite3"), f"ws://127.0.0.1:{stack.plan.ports.head}"
    # Every match goes through the head.
    options = ("--eval-head-url", head)
    with ReferenceServer("sim-1", plugins=folder / "plugins", options=options) as server:
        assert server.address
        played: list[subprocess.CompletedProcess[str]] = []
        game = ("--game", SERVED, "--agents", ",".join(long_matches.AGENTS))
        command = ("evaluate", *game, "--num-matches", str(N_MATCHES))
        evaluating = threading.Thread(
            target=lambda: played.append(evalsite(stack, *command, timeout=LIMIT_S))
        )
        await_servers(url, {"sim-1"})
        evaluating.start()
        wait_until(lambda: read_stats(stack)["episodes"] > 20, limit_s=LIMIT_S, what="a start")
        before, pid = read_stats(stack), stack.pids()["head"]
        psutil.Process(pid).kill()
        wait_until(
            lambda: stack.pids().get("head", pid) != pid and answers(stack),
            limit_s=LIMIT_S,
            what="the return of the head",
        )
        after = read_stats(stack)
        evaluating.join()
    assert after["requests"] == 0, "it is another process"
    moments = [point["at"] for point in after["history"]]
    assert [point["at"] for point in before["history"]] == moments[: len(before["history"])]
    assert played[0].returncode == 0, played[0].stderr
    endings = read_by_server(url)["sim-1"]
    assert endings["done"] == N_MATCHES
    assert endings["interrupted"] > 0, "the kill met matches in play"
