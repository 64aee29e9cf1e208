"""Inference in this process, on its CPU, with the interface of the client of the queue."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from arena.policies.network_policy import FloatBatch, NetworkOutput
from inference.engine import Engine
from inference.engine_factory import make_engine
from inference.errors import UnavailableError
from inference.protocol import Answer, BlockRequest, CheckpointRef, error_of
from inference.settings import Settings

# Forwards of siblings before they are stacked: a player pays for the imports too.
PATIENCE = 20_000


@dataclass(slots=True, eq=False)
class LocalTicket:
    """A question, and its answer once somebody has waited for one."""

    block: BlockRequest
    answer: Answer | None = None


class LocalInference:
    """Answers when the first result is wanted: what was asked until then shares forwards."""

    def __init__(self, settings: Settings, *, engine: Engine | None = None) -> None:
        """Use the CPU in full precision, whatever a gpu worker of these settings would."""
        own = replace(settings, device="cpu", precision="float32", compile="none")
        self.engine = engine or make_engine(own, patience=PATIENCE)
        self._waiting: list[LocalTicket] = []

    def submit(
        self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch | None = None
    ) -> LocalTicket:
        """Ask; return a ticket at once. The arrays must not change until the answer is there."""
        if states is None:
            states = np.empty((len(observations), 0), np.float32)
        ticket = LocalTicket(BlockRequest(ref, observations, states))
        self._waiting.append(ticket)
        return ticket

    def result(self, ticket: LocalTicket) -> NetworkOutput:
        """Return the answer. Raises RequestError, ModelError, UnavailableError."""
        if ticket.answer is None:
            # All that waits, not only this one: questions of one step share forwards.
            waiting, self._waiting = self._waiting, []
            answers = self.engine.answer([other.block for other in waiting])
            for other, answer in zip(waiting, answers, strict=True):
                other.answer = answer
        if isinstance(ticket.answer, NetworkOutput):
            return ticket.answer
        if ticket.answer is None:
            raise UnavailableError("the question was let go, or the forward it was to share failed")
        raise error_of(ticket.answer)

    def infer(
        self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch | None = None
    ) -> NetworkOutput:
        """Ask and wait."""
        return self.result(self.submit(ref, observations, states))

    def infer_many(
        self, blocks: Mapping[CheckpointRef, FloatBatch]
    ) -> dict[CheckpointRef, NetworkOutput]:
        """Ask several feed-forward checkpoints at once and wait for all of them."""
        tickets = {ref: self.submit(ref, block) for ref, block in blocks.items()}
        return {ref: self.result(ticket) for ref, ticket in tickets.items()}

    def close(self) -> None:
        """Let go of what nobody has waited for."""
        self._waiting.clear()
