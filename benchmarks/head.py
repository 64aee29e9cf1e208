"""How many decisions the head gives callers, against one forward for each request.

./run bench head [--quick] [--rounds N] [--callers N] [--json FILE]
"""

import asyncio
import os
import socket
import subprocess
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np

from arena.agent_passes import AskedAgent, make_agent_pass
from arena.credentials import pass_key
from arena.messages import AgentOrder
from arena.policies.sampling import choose_greedy
from benchmarks.networks import Checkpoint, Forward, Size, write_checkpoint
from benchmarks.report import format_table, make_parser, whole_number, write_report
from benchmarks.stacks import wait_until
from launcher.folders import ROOT, ensure_secrets
from launcher.programs import ONE_THREAD, PYTHON
from launcher.stack import Stack, start_stack

BIG = Size("big", 1024, 8)
GAME, SHAPE, N_ACTIONS = "connect_four", (3, 6, 7), 7
N_ROWS, LEGAL_SHARE = 512, 0.7
WARM_S, WINDOW_S, QUICK_S = 2.0, 4.0, 0.5
FOR_EVER = 4_000_000_000
OURS, SEED = "the head", "one forward a request"


@dataclass
class Way:
    """Where callers ask, with which pass, and what they were answered."""

    port: int
    token: str = ""
    per_s: list[float] = field(default_factory=list)
    latencies_ms: list[float] = field(default_factory=list)
    n_wrong: int = 0


def measure(options: Namespace) -> dict[str, Any]:
    with TemporaryDirectory(prefix="evalsite-bench-") as name:
        folder = Path(name)
        seal = BIG.seal(GAME, SHAPE, N_ACTIONS)
        checkpoint = write_checkpoint(seal, folder / "cache", seed=1)
        settings = {"EVALSITE_CACHE": str(folder / "cache")}
        shape: dict[str, Any] = {"nodes": 0, "gpus": 1, "head": True, "settings": settings}
        with (
            start_stack(folder / "var", **shape) as stack,
            one_forward(stack.plan.ports.web, checkpoint.path) as port,
        ):
            head = stack.plan.ports.head
            wait_until(lambda: listens(head), limit_s=60, what="the start of the head")
            ways = {OURS: Way(head, make_token(stack, checkpoint)), SEED: Way(port)}
            return ask_in_turns(ways, Forward(checkpoint.path), options)


def ask_in_turns(ways: dict[str, Way], forward: Forward, options: Namespace) -> dict[str, Any]:
    """Ask both ways in each round, so that noise meets both alike."""
    rows, masks = drawn_rows()
    expected = choose_greedy(forward.answer_logits(rows), masks).astype(np.int32)
    window_s = QUICK_S if options.quick else WINDOW_S
    for way in ways.values():
        bodies = [make_request(way, rows[n], masks[n]) for n in range(N_ROWS)]
        asyncio.run(ask_for_a_while(way, bodies, expected, options.callers, WARM_S))
        way.latencies_ms.clear()
    for _ in range(options.rounds):
        for way in ways.values():
            bodies = [make_request(way, rows[n], masks[n]) for n in range(N_ROWS)]
            way.per_s.append(
                asyncio.run(ask_for_a_while(way, bodies, expected, options.callers, window_s))
            )
    ours, seed = ways[OURS], ways[SEED]
    return {
        "callers": options.callers,
        "network": "8 layers of 1,024",
        "head_per_s": round(median(ours.per_s), 1),
        "seed_per_s": round(median(seed.per_s), 1),
        "ratio": round(median(ours.per_s) / median(seed.per_s), 2),
        "head_p50_ms": round(float(np.percentile(ours.latencies_ms, 50)), 2),
        "head_p99_ms": round(float(np.percentile(ours.latencies_ms, 99)), 2),
        "seed_p50_ms": round(float(np.percentile(seed.latencies_ms, 50)), 2),
        "seed_p99_ms": round(float(np.percentile(seed.latencies_ms, 99)), 2),
        "actions_compared": len(ours.latencies_ms) + len(seed.latencies_ms),
        "actions_other": ours.n_wrong + seed.n_wrong,
        "same_actions": not (ours.n_wrong or seed.n_wrong),
    }


async def ask_for_a_while(
    way: Way, requests: Sequence[bytes], expected: Any, n_callers: int, window_s: float
) -> float:
    """Have callers ask one row after the other; return decisions per second."""
    until = monotonic() + window_s
    began = monotonic()

    async def call(first: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
        n_asked, place = 0, first
        while monotonic() < until:
            asked_at = monotonic()
            writer.write(requests[place])
            body = await read_answer(reader)
            way.latencies_ms.append(1000 * (monotonic() - asked_at))
            _, _, arrays = body.partition(b"\n")
            way.n_wrong += int(np.frombuffer(arrays, np.int32, 1)[0] != expected[place])
            n_asked, place = n_asked + 1, (place + n_callers) % N_ROWS
        writer.close()
        return n_asked

    counts = await asyncio.gather(*map(call, range(n_callers)))
    return sum(counts) / (monotonic() - began)


async def read_answer(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    if not head.startswith("http/1.1 200"):
        length = int(head.split("content-length:")[1].split()[0])
        raise RuntimeError(f"{head.splitlines()[0]}: {(await reader.readexactly(length))!r}")
    return await reader.readexactly(int(head.split("content-length:")[1].split()[0]))


def make_request(way: Way, row: Any, mask: Any) -> bytes:
    body: bytes = b'{"rows": 1}\n' + row.tobytes() + mask.astype(np.uint8).tobytes()
    lines = [
        "POST /evaluate HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/octet-stream",
        f"Content-Length: {len(body)}",
        *([f"Authorization: Bearer {way.token}"] if way.token else []),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def drawn_rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    masks = rng.random((N_ROWS, N_ACTIONS)) < LEGAL_SHARE
    masks[:, 3] = True
    return rng.normal(size=(N_ROWS, *SHAPE)).astype(np.float32), masks


def make_token(stack: Stack, checkpoint: Checkpoint) -> str:
    plays = AgentOrder("network", {}, checkpoint.sha256, "gpu", checkpoint.ref.source)
    agent = AskedAgent(1, "big", GAME, list(SHAPE), N_ACTIONS, plays)
    key = pass_key(ensure_secrets(stack.plan.var)["EVALSITE_SECRET_KEY"])
    return make_agent_pass(key, agent, until=FOR_EVER)


@contextmanager
def one_forward(port: int, path: Path) -> Iterator[int]:
    """Run the seed's way; give its port."""
    command = [PYTHON, "-m", "benchmarks.serving.one_forward", str(port), str(path)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **ONE_THREAD})

    try:
        wait_until(lambda: listens(port), limit_s=60, what="the start of the seed's way")
        yield port
    finally:
        process.terminate()
        process.wait()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def format_figures(figures: dict[str, Any]) -> str:
    rows = [
        [OURS, *(figures[f"head_{key}"] for key in ("per_s", "p50_ms", "p99_ms"))],
        [SEED, *(figures[f"seed_{key}"] for key in ("per_s", "p50_ms", "p99_ms"))],
    ]
    table = format_table(["way", "decisions/s", "p50 ms", "p99 ms"], rows)
    return (
        f"{figures['callers']} callers, one row each, a network of {figures['network']}:\n\n"
        f"{table}\n\n"
        f"{figures['ratio']:.1f} times (target >= 4); the same actions: {figures['same_actions']} "
        f"({figures['actions_other']} others of {figures['actions_compared']:,})"
    )


def main(arguments: Sequence[str]) -> int:
    parser = make_parser("head", "How many decisions the head gives callers at one time.")
    parser.add_argument("--rounds", type=whole_number(1), default=5)
    parser.add_argument("--callers", type=whole_number(1), default=32)
    parser.add_argument("--quick", action="store_true", help="one short round")
    options = parser.parse_args(arguments)
    options.rounds = 1 if options.quick else options.rounds
    os.environ.update(ONE_THREAD)
    figures = measure(options)
    write_report(format_figures(figures), figures, options.json)
    return 0 if figures["same_actions"] else 1
