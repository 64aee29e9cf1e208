"""Arrange checkpoint files and verdicts as the real parts would make them."""

from datetime import datetime
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from arena.message_tokens import checkpoint_token
from arena.messages import Checked, to_wire
from matches.artifacts import checkpoints
from matches.artifacts.checkpoints import New
from matches.ledger import recording
from matches.models import Agent, Checkpoint
from matches.store.signing import derive_key
from matches.tests.factories import NOW

GAME = "connect_four"


def weights(path: Path, *, seed: int = 0, n: int = 8) -> Path:
    """Write a plain safetensors file; other seeds have other content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.random.default_rng(seed).standard_normal((n, 4), dtype=np.float32)
    save_file({"body.weight": values}, path)
    return path


def new(name: str = "run", **fields: object) -> New:
    """Return what a plain file is to be."""
    options = {"game": GAME, "architecture": "mlp", **fields}
    return New(name, **options)  # type: ignore[arg-type]


def added(
    folder: Path, name: str = "run", *, seed: int = 0, now: datetime = NOW, **fields: object
) -> Agent:
    """Return the agent of a new checkpoint that is being checked."""
    file = weights(folder / "given" / f"{name}-{seed}.safetensors", seed=seed)
    return checkpoints.add_checkpoint(file, new(name, **fields), now=now)


def verdict(
    checkpoint: Checkpoint | None,
    *,
    refusal: str = "",
    row_ms: float = 0.1,
    state_size: int = 0,
    token: str | None = None,
    now: datetime = NOW,
) -> None:
    """Let a gpu worker report what its check found."""
    assert checkpoint is not None
    report = Checked(
        node="gpu-1",
        checkpoint=checkpoint.sha256,
        token=checkpoint_token(derive_key(), checkpoint.sha256) if token is None else token,
        refusal=refusal,
        n_parameters=32,
        state_size=state_size,
        row_ms=row_ms,
    )
    recording.record_messages([to_wire(report)], now=now)
    checkpoint.refresh_from_db()


def ready(folder: Path, name: str, *, placement: str = "local", seed: int = 0) -> Agent:
    """Return an agent whose network runs there."""
    agent = added(folder, name, seed=seed)
    verdict(agent.checkpoint, row_ms=0.1 if placement == "local" else 2.0)
    agent.refresh_from_db()
    return agent
