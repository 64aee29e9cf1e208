"""Networks with fresh weights, as good as trained ones to measure with, and their forwards."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import torch

from arena.checkpoints import Seal
from arena.games import registry as games
from arena.policies.network_policy import FloatBatch, NetworkOutput
from benchmarks.stacks import wait_until
from inference.model import fresh, load, save_sealed
from inference.protocol import CheckpointRef

READY_LIMIT_S = 120.0
# Gives layers the variance that passes a signal on: else the logits of deep ones are all alike.
GAIN = 6**0.5


class Spell(NamedTuple):
    """When a forward ran, on the clock that all processes share."""

    began: float
    ended: float


class Forward:
    """One network in this process, on one thread of the CPU."""

    def __init__(self, path: Path) -> None:
        # Every way has one thread a forward: else the fastest is who takes most cores.
        torch.set_num_threads(1)
        self._model = load(path)
        self.state_size = self._model.state_size

    def run(
        self, observations: FloatBatch, states: FloatBatch | None = None
    ) -> tuple[FloatBatch, ...]:
        """Return logits [B, A], values [B] and the states after them [B, S]."""
        if states is None:
            states = np.zeros((len(observations), self.state_size), np.float32)
        with torch.inference_mode():
            parts = self._model.module(torch.from_numpy(observations), torch.from_numpy(states))
        return tuple(part.numpy() for part in parts)

    def answer_logits(self, observations: FloatBatch) -> FloatBatch:
        return self.run(observations)[0]

    def answer_bytes(self, packed: bytearray) -> FloatBatch:
        """Return logits and values, [B, A + 1], of rows one after the other in writable memory."""
        shape = self._model.seal.observation_shape
        logits, values, _ = self.run(np.frombuffer(packed, np.float32).reshape(-1, *shape))
        return np.concatenate((logits, values[:, None]), axis=1)


class Copy:
    """A private copy of a network that runs one forward per row, as policies ask it."""

    def __init__(self, path: Path) -> None:
        self._forward, self.spells = Forward(path), list[Spell]()
        self.state_size = self._forward.state_size

    def submit(self, observations: FloatBatch, states: FloatBatch) -> NetworkOutput:
        rows = []
        for row, state in zip(observations, states, strict=True):
            began = monotonic()
            rows.append(self._forward.run(row[None], state[None]))
            self.spells.append(Spell(began, monotonic()))
        return NetworkOutput(*(np.concatenate(parts) for parts in zip(*rows, strict=True)))

    def result(self, ticket: NetworkOutput) -> NetworkOutput:
        return ticket


@dataclass(frozen=True)
class Size:
    """A multilayer perceptron: its name in the tables and its hidden layers."""

    name: str
    width: int
    depth: int

    def seal(self, game: str, shape: tuple[int, ...], n_actions: int) -> Seal:
        """Return what the file of such a checkpoint says of itself."""
        hidden = ",".join([str(self.width)] * self.depth)
        return Seal("mlp", {"hidden": hidden}, game, shape, n_actions)

    def seal_for_game(self, game: str) -> Seal:
        spec = games.get(game).spec
        return self.seal(game, spec.observation_shape, spec.n_actions)


@dataclass(frozen=True)
class Checkpoint:
    """One set of weights: its file and its SHA-256."""

    path: Path
    sha256: str

    @property
    def ref(self) -> CheckpointRef:
        """Return what is asked; the file lies in the cache, so that its link is never followed."""
        return CheckpointRef(self.sha256, f"/files/checkpoints/{self.sha256}")


def write_checkpoint(seal: Seal, cache: Path, *, seed: int) -> Checkpoint:
    """Write weights into the cache of a gpu worker, under the name that it looks for."""
    cache.mkdir(parents=True, exist_ok=True)
    module = fresh(seal, seed=seed)
    with torch.no_grad():
        for weight in module.parameters():
            if weight.dim() > 1:
                weight.mul_(GAIN)
    sha256 = save_sealed(module, cache / "sealed", seal)
    return Checkpoint((cache / "sealed").rename(cache / f"{sha256}.safetensors"), sha256)


def register_networks(name: str, n: int, *, size: Size) -> list[Any]:
    """Return n agents of connect four on the gpu queue, ready to play; the same at each call."""
    from matches.models import Agent  # noqa: PLC0415 - Django is set up by the stack

    agents = Agent.objects.filter(name__startswith=f"{name}@").order_by("pk")
    # The undisturbed and the disturbed tournament need the same agents.
    if not agents.exists():
        seal = size.seal_for_game("connect_four")
        with TemporaryDirectory() as folder:
            for step in range(n):
                path = Path(folder) / f"{name}_{step}.safetensors"
                save_sealed(fresh(seal, seed=step), path, seal)
                add_checkpoint(path, name=name, step=step)
    await_checkpoints()
    return list(agents)


def add_checkpoint(path: Path, *, name: str, step: int | None = None) -> Any:
    """Return the agent of a file, which will play on the gpu queue."""
    from matches.artifacts import checkpoints  # noqa: PLC0415
    from matches.store.clock import db_now  # noqa: PLC0415

    return checkpoints.add_checkpoint(
        path, checkpoints.New(name=name, step=step, placement="gpu"), now=db_now()
    )


def await_checkpoints() -> None:
    """Wait until every checkpoint of the stack was looked at and found well."""
    from matches.models import Checkpoint as Row  # noqa: PLC0415

    waiting = Row.objects.exclude(state=Row.State.READY)
    wait_until(lambda: not waiting.exists(), limit_s=READY_LIMIT_S, what="the check of networks")


def busy_seconds(spells: Sequence[Spell]) -> float:
    """Return the seconds in which at least one forward ran."""
    total, reached = 0.0, float("-inf")
    for began, ended in sorted(spells):
        total += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return total


def find_safetensors(folders: list[Path]) -> list[Path]:
    return sorted(path for folder in folders for path in folder.rglob("*.safetensors"))
