"""Battles on a stack of its own: web, control, play slots and one server of networks."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from arena import trajectories
from benchmarks import stacks
from benchmarks.comparison import read_columns
from benchmarks.networks import add_checkpoint, await_checkpoints
from benchmarks.serving.servers import find_free_port, read_metrics
from launcher.stack import Stack

LIMIT_S = 1_800.0
MODEL, COPY = "model", "copy"
# Sampled: an untrained network that always took its best action might switch for 1,000 turns.
TEMPERATURE = 1.0
NEAR = 1e-4
PLACEMENTS = {MODEL: "gpu", COPY: "local"}


class Generated(NamedTuple):
    """Battles of a network with their trajectories: where they are, and what they took."""

    folder: Path
    seconds: float
    rows_per_forward: float

    @property
    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads((self.folder / "manifest.json").read_text())
        return manifest

    def read_rows(self) -> pa.Table:
        """Return every decision, in the order of matches."""
        shards = self.manifest["shards"]
        return pa.concat_tables(
            trajectories.read_parquet(self.folder / shard["file"]) for shard in shards
        )


@dataclass
class Queue:
    """A stack that plays one game."""

    stack: Stack
    game: str
    metrics_port: int
    _n_boards: int = 0

    def play_random(self, n: int) -> float:
        """Play n battles between random agents; return the seconds."""
        from matches.artifacts.agents import register_spelled_agent  # noqa: PLC0415

        agents = [register_spelled_agent("random", game=self.game, copy=copy) for copy in (1, 2)]
        self._n_boards += 1
        board = stacks.open_board(f"battles-{self._n_boards}", self.game)
        began = time.monotonic()
        tournament = stacks.schedule_agents(board, agents, n, seed=self._n_boards)
        stacks.await_tournament(tournament, limit_s=LIMIT_S)
        if tournament.n_done != n:
            raise RuntimeError(f"{tournament.n_done} of {n} battles have an outcome")
        return time.monotonic() - began

    def add_model(self, path: Path) -> None:
        """Enter a checkpoint twice: asked on the gpu queue, and as a copy in each worker."""
        from matches.models import Agent  # noqa: PLC0415

        agent = add_checkpoint(path, name=MODEL)
        await_checkpoints()
        Agent.objects.filter(pk=agent.pk).update(parameters={"temperature": TEMPERATURE})
        agent.refresh_from_db()
        # The same in all but where its network runs.
        agent.pk, agent.name, agent.placement = None, COPY, PLACEMENTS[COPY]
        agent.save()

    def generate(self, agent: str, opponent: str, n: int, out: Path, *, seed: int) -> Generated:
        """Play as `evalsite generate` does, and fetch every decision."""
        from matches.models import Tournament  # noqa: PLC0415

        before = read_metrics(self.metrics_port)
        pair = ("--agent-a", agent, "--agent-b", opponent, "--game", self.game)
        size = ("--matches", str(n), "--seed", str(seed), "--out", str(out))
        command = ("-m", "evalsite_client", "generate", *pair, *size)
        stacks.run_python(self.stack, *command, is_quiet=True)
        now = read_metrics(self.metrics_port)
        rows, forwards = (now.get(key, 0) - before.get(key, 0) for key in ("rows", "forwards"))
        # By its own clock: the command looks every half second, and fetches shards.
        played = Tournament.objects.latest("pk")
        assert played.finished_at is not None
        seconds = (played.finished_at - played.created_at).total_seconds()
        return Generated(out, seconds, rows / forwards if forwards else 1.0)


@contextmanager
def open_queue(game: str, *, n_workers: int) -> Iterator[Queue]:
    """Start the stack; every process of it ends with the block."""
    port = find_free_port()
    settings = {
        # Both ways of running a network must answer the same bits.
        "EVALSITE_DETERMINISTIC": "1",
        "EVALSITE_METRICS_PORT": str(port),
    }
    if plugins := os.environ.get("EVALSITE_PLUGINS"):
        settings["EVALSITE_PLUGINS"] = plugins
    shape = {"nodes": 1, "slots": n_workers, "gpus": 1, "web": True, "settings": settings}
    with stacks.private_stack(**shape) as stack:  # type: ignore[arg-type]
        yield Queue(stack, game, port)


class Agreement(NamedTuple):
    """Of battles with the same seeds: how many ended alike, and why others did not."""

    n_battles: int
    n_same_winner: int
    n_near_ties: int
    same_columns: bool


def compare_generated(first: Generated, second: Generated) -> Agreement:
    """Compare two runs battle by battle, from the first decision on."""
    rows, other_rows = first.read_rows(), second.read_rows()
    battles, other_battles = (trajectories.split_episodes(table) for table in (rows, other_rows))
    n_same = n_near = 0
    for number, battle in battles.items():
        if read_winner(battle) == read_winner(other_battles[number]):
            n_same += 1
        else:
            n_near += is_near_tie(battle, other_battles[number])
    same_columns = rows.schema.equals(other_rows.schema)
    return Agreement(len(battles), n_same, n_near, same_columns)


def read_winner(battle: pa.Table) -> int | None:
    """Return the seat that was rewarded at the end; None after a tie."""
    ended = battle.filter(battle.column("terminated"))
    return next(
        (seat for seat, reward in read_columns(ended, "seat", "reward") if reward > 0), None
    )


def is_near_tie(first: pa.Table, second: pa.Table) -> bool:
    """Say whether the logits were the same up to rounding where the battles part."""
    steps, other_steps = (read_columns(battle, "action", "logits") for battle in (first, second))
    for (action, logits), (other_action, other_logits) in zip(steps, other_steps, strict=False):
        if action != other_action:
            return logits is not None and np.allclose(logits, other_logits, atol=NEAR)
    return False
