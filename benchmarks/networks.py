"""Agents with fresh networks for benchmarks: as good as trained ones to measure with."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

from arena.checkpoints import Seal
from arena.games import registry as games
from arena.parameters import Value
from inference.model import fresh, save_sealed

READY_LIMIT_S = 120.0


def seal(game: str, architecture: str, parameters: Mapping[str, Value]) -> Seal:
    """Return what a checkpoint for this game is sealed with."""
    spec = games.get(game).spec
    return Seal(architecture, dict(parameters), game, spec.observation_shape, spec.n_actions)


def register_networks(
    name: str, n: int, *, parameters: Mapping[str, Value], architecture: str = "mlp"
) -> list[Any]:
    """Return n agents of connect four on the gpu queue, ready to play; the same at each call."""
    from matches.models import Agent  # noqa: PLC0415 - Django is set up by the stack

    ours = Agent.objects.filter(name__startswith=f"{name}@").order_by("pk")
    if not ours.exists():
        _add(name, n, seal("connect_four", architecture, parameters))
    deadline = monotonic() + READY_LIMIT_S
    while ours.exclude(checkpoint__state="ready").exists():
        if monotonic() > deadline:
            raise TimeoutError(f"{name}: not ready after {READY_LIMIT_S:g} s")
        sleep(0.2)
    return list(ours)


def _add(name: str, n: int, sealed: Seal) -> None:
    from matches.artifacts.checkpoints import New, add_checkpoint  # noqa: PLC0415
    from matches.store.clock import db_now  # noqa: PLC0415

    with TemporaryDirectory() as folder:
        for step in range(n):
            path = Path(folder) / f"{name}_{step}.safetensors"
            save_sealed(fresh(sealed, seed=step), path, sealed)
            add_checkpoint(path, New(name=name, step=step, placement="gpu"), now=db_now())
