"""Weights, steps and environments that several tests need."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from arena.checkpoints import Seal
from evalsite_client.api.games import Game
from evalsite_client.experience.environments import Outcome
from evalsite_client.experience.weights import Floats
from inference.model import fresh, save_sealed

GAME = Game("cart_pole", "CartPole", 1, 2, (4,), "float32")


def make_weights(
    folder: Path, *, seed: int = 1, game: str = "cart_pole", **parameters: Any
) -> bytes:
    """Return the sealed file of a new network for CartPole."""
    seal = Seal("mlp", {"hidden": "16", **parameters}, game, (4,), 2)
    path = folder / f"{seed}.safetensors"
    save_sealed(fresh(seal, seed=seed), path, seal)
    return path.read_bytes()


def make_version(content: bytes, *, version: int, url: str) -> dict[str, Any]:
    """Return what the API answers about a version with this file."""
    return {
        **{"run": "poles", "game": "cart_pole", "version": version, "url": url},
        **{"sha256": sha256(content).hexdigest(), "size": len(content)},
        **{"architecture": "mlp", "parameters": {}, "observation_shape": [4], "n_actions": 2},
        **{"state": "snapshot", "reason": "", "n_steps": 0, "metrics": {}, "n_downloads": 0},
        **{"agent": None, "campaign": None, "judged_at": None},
        "created_at": "2026-11-27T00:00:00Z",
    }


def make_run() -> dict[str, Any]:
    """Return what the API answers about the run."""
    return {
        **{"id": 1, "name": "poles", "game": "cart_pole", "algorithm": "appo", "parameters": {}},
        **{"dataset": "", "seed": 0, "max_steps": 1_000, "slice_s": 60.0, "margin": 1.0},
        **{"release_s": 60.0, "release_steps": 1_000, "budget": 200, "state": "running"},
        **{"problem": "", "n_steps": 0, "version": 0, "metrics": {}, "slice": 1, "n_lost": 0},
        **{"trainer": "", "created_by": "ann", "created_at": "2026-11-27T00:00:00Z"},
        **{"reported_at": None, "ended_at": None},
    }


class Walk:
    """An environment whose episodes have lengths that it was given, ending in turn both ways."""

    def __init__(self, *lengths: int) -> None:
        """lengths: of its episodes; the last one recurs."""
        self.lengths, self.n_begun, self.place = lengths, 0, 0
        self.observation: Floats = np.zeros(4, np.float32)

    def reset(self, *, seed: int) -> Floats:
        """Begin an episode."""
        self.n_begun, self.place = self.n_begun + 1, 0
        self.observation = np.random.default_rng(seed).standard_normal(4, np.float32)
        return self.observation

    def step(self, action: int) -> Outcome:
        """Go on by a step."""
        self.place += 1
        self.observation = self.observation + np.float32(0.5 - action)
        length = self.lengths[min(self.n_begun, len(self.lengths)) - 1]
        is_over, is_odd = self.place == length, bool(self.n_begun % 2)
        return Outcome(self.observation, 1.0, is_over and is_odd, is_over and not is_odd)
