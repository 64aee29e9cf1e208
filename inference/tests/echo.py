"""An engine without torch: its logits are the sums of the rows; some checkpoints misbehave."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from arena.policies.network_policy import FloatBatch, NetworkOutput
from inference.protocol import Answer, BlockRequest, CheckpointRef, Fault, FaultKind, no_op

N_ACTIONS = 3


def ref_of(name: str) -> CheckpointRef:
    """Return a checkpoint whose hash begins with these hex digits."""
    return CheckpointRef(name.ljust(64, "0"), f"/files/checkpoints/{name}")


GOOD, MISSING, BREAKS_ENGINE = ref_of("a"), ref_of("b"), ref_of("c")


def block_of(n_rows: int, value: float = 1.0) -> FloatBatch:
    return np.full((n_rows, 2, 2), value, np.float32)


class EchoEngine:
    """Answers in the time it takes to add."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.batches: list[list[int]] = []
        self.before: Callable[[Callable[[], None]], None] = lambda keep_alive: None
        """Called at the beginning of each batch."""

    def answer(
        self, blocks: Sequence[BlockRequest], *, keep_alive: Callable[[], None] = no_op
    ) -> list[Answer]:
        self.before(keep_alive)
        self.batches.append([len(block.observations) for block in blocks])
        self.counts["forwards"] += len({block.ref.checkpoint for block in blocks})
        self.counts["rows"] += sum(len(block.observations) for block in blocks)
        return [_answer(block) for block in blocks]


def _answer(block: BlockRequest) -> Answer:
    if block.ref == MISSING:
        return Fault(FaultKind.UNAVAILABLE, "no such checkpoint")
    if block.ref == BREAKS_ENGINE:
        raise RuntimeError("the device is gone")
    if np.isnan(block.observations).any():
        return Fault(FaultKind.BAD_REQUEST, "NaN")
    sums = block.observations.reshape(len(block.observations), -1).sum(axis=1)
    logits = np.repeat(sums[:, None], N_ACTIONS, axis=1)
    return NetworkOutput(logits, sums, block.states + 1)
