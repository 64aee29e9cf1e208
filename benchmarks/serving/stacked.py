"""Sixteen sibling checkpoints with four rows each: one forward of all against one of each."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from benchmarks.networks import Size, write_checkpoint
from benchmarks.serving.hall import N_ACTIONS, SHAPE
from inference.engine import Engine
from inference.engine_factory import make_engine
from inference.protocol import BlockRequest, CheckpointRef
from inference.settings import Settings

N_SIBLINGS = 16
N_ROWS = 4
MOST_WARMING = 10
CALLS = 10
NARROW = Size("narrow", 64, 2)


def measure(size: Size, cache: Path, *, is_deterministic: bool, repeats: int) -> dict[str, Any]:
    """Return the ratio of the forwards, and of the whole engine with and without stacking.

    Where the engine does not stack, the ratios are None and `reason` says why.
    """
    torch.set_num_threads(1)
    seal = size.seal("bench", SHAPE, N_ACTIONS)
    refs = [write_checkpoint(seal, cache, seed=seed).ref for seed in range(N_SIBLINGS)]
    settings = Settings(cache=cache, device="cpu", is_deterministic=is_deterministic)
    stacking, plain = make_engine(settings, patience=N_SIBLINGS), make_engine(settings)
    # The same engine but for this: it never looks for siblings.
    plain.stacks = None
    rows = torch.randn(N_SIBLINGS, N_ROWS, *SHAPE, generator=torch.Generator().manual_seed(0))
    # These networks keep nothing from step to step.
    states = np.empty((N_ROWS, 0), np.float32)
    blocks = [BlockRequest(ref, own.numpy(), states) for ref, own in zip(refs, rows, strict=True)]
    reason = warm_engine(stacking, blocks)
    with torch.inference_mode():
        forwards = [stacking.models.get(ref).forward for ref in refs]
        nothing = torch.zeros(N_ROWS, 0)
        ways: dict[str, Callable[[], object]] = {
            "alone": lambda: [
                forward(own, nothing) for forward, own in zip(forwards, rows, strict=True)
            ],
            "plain": lambda: plain.answer(blocks),
            "engine": lambda: stacking.answer(blocks),
        }
        if not reason:
            ways["stacked"] = find_stack(stacking, refs, rows)
        seconds = time_in_turns(ways, repeats)
    return {
        "network": size.name,
        "is_deterministic": is_deterministic,
        "hidden": seal.parameters["hidden"],
        "alone_us": 1e6 * seconds["alone"],
        "stacked_us": None if reason else 1e6 * seconds["stacked"],
        "ratio": None if reason else seconds["alone"] / seconds["stacked"],
        "engine_ratio": None if reason else seconds["plain"] / seconds["engine"],
        "reason": reason,
    }


def warm_engine(engine: Engine, blocks: Sequence[BlockRequest]) -> str:
    """Answer until the engine has found that stacking pays; return why it never does."""
    for _ in range(MOST_WARMING):
        engine.answer(blocks)
        if engine.counts["stacked"]:
            return ""
    trials = engine.stacks.trials.values() if engine.stacks else ()
    reasons = [
        trial.reason or f"{trial.alone_s / trial.stacked_s:.2f} a network" for trial in trials
    ]
    return f"not stacked: {'; '.join(reasons)}"


def find_stack(
    engine: Engine, refs: Sequence[CheckpointRef], rows: torch.Tensor
) -> Callable[[], object]:
    """Return the one forward of all siblings that the engine has learned to run."""
    stacks, models = engine.stacks, [engine.models.get(ref) for ref in refs]
    stack = stacks and stacks.stack_for(models, N_ROWS, engine.forwards)
    if not stacks or not stack:
        raise RuntimeError("the engine keeps no stack")
    states = torch.zeros(N_SIBLINGS, N_ROWS, 0)
    return lambda: stacks.run(*stack, rows, states)


def time_in_turns(ways: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each way; they take turns, so that noise meets all alike.

    A turn is several calls: a server too finds in the CPU's cache what it read a moment ago.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            way()
            for _ in range(CALLS):
                began = time.perf_counter()
                way()
                seconds[name].append(time.perf_counter() - began)
    return {name: median(times) for name, times in seconds.items()}
