"""Gathers the questions of many callers, so that those about one network share its forwards.

What comes while a network is busy waits and goes as one block when it is free: no network stands
still for a timer. An answer does not depend on who else asked: the server of networks sees to that.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from arena.policies.network_policy import FloatBatch, NetworkOutput
from inference.client import (
    CheckpointRef,
    InferenceError,
    ModelError,
    QueueFullError,
    RequestError,
)

# Rows of one block, and of all that wait.
MAX_ROWS = 1_024
MAX_WAITING = 65_536
# Blocks of one network under way: while one is computed, the next callers are heard.
IN_FLIGHT = 2
# Callers that were answered together ask again one after the other: the block behind the one that
# is computed waits for the last of them, as a forward of 3 rows takes as long as one of 16.
GATHER_S = 0.002

# Answers a block in a thread. Raises InferenceError.
Infer = Callable[[CheckpointRef, FloatBatch, FloatBatch], NetworkOutput]
# Told of each block: its rows, its questions and the seconds that it took.
Note = Callable[[int, int, float], None]


@dataclass
class Question:
    """Rows of one caller, who waits for the answer."""

    observations: FloatBatch
    states: FloatBatch
    answer: asyncio.Future[NetworkOutput]

    @property
    def n_rows(self) -> int:
        """Rows of the block."""
        return len(self.observations)


@dataclass
class _Line:
    waiting: deque[Question] = field(default_factory=deque)
    n_in_flight: int = 0
    is_due: bool = False


class Gatherer:
    """Asks through `infer`; lives in one event loop."""

    def __init__(
        self,
        infer: Infer,
        run: Callable[..., "asyncio.Future[NetworkOutput]"],
        *,
        note: Note,
        clock: Callable[[], float],
    ) -> None:
        """run: calls a function in a thread of its own, as loop.run_in_executor does."""
        self._infer, self._run, self._note, self._clock = infer, run, note, clock
        self._lines: dict[CheckpointRef, _Line] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._n_waiting = 0

    async def ask(
        self, ref: CheckpointRef, observations: FloatBatch, states: FloatBatch
    ) -> NetworkOutput:
        """Return what a network says of some rows. Raises InferenceError."""
        if self._n_waiting + len(observations) > MAX_WAITING:
            raise QueueFullError(f"{self._n_waiting} rows wait in the head")
        loop = asyncio.get_running_loop()
        question = Question(observations, states, loop.create_future())
        line = self._lines.setdefault(ref, _Line())
        line.waiting.append(question)
        self._n_waiting += question.n_rows
        if not line.is_due:
            # A little later: what has arrived at the same time is heard first.
            line.is_due = True
            loop.call_later(GATHER_S if line.n_in_flight else 0, self._send_blocks, ref, line)
        return await question.answer

    def _send_blocks(self, ref: CheckpointRef, line: _Line) -> None:
        line.is_due = False
        while line.waiting and line.n_in_flight < IN_FLIGHT:
            line.n_in_flight += 1
            task = asyncio.create_task(self._answer_block(ref, line, self._take_block(line)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not line.waiting and not line.n_in_flight:
            self._lines.pop(ref, None)

    def _take_block(self, line: _Line) -> list[Question]:
        """Return the questions that go next, at least one."""
        block = [line.waiting.popleft()]
        n_rows = block[0].n_rows
        while line.waiting and n_rows + line.waiting[0].n_rows <= MAX_ROWS:
            block.append(line.waiting.popleft())
            n_rows += block[-1].n_rows
        self._n_waiting -= n_rows
        return block

    async def _answer_block(
        self, ref: CheckpointRef, line: _Line, block: Sequence[Question]
    ) -> None:
        try:
            await self._ask_together(ref, block)
        finally:
            line.n_in_flight -= 1
            self._send_blocks(ref, line)

    async def _ask_together(self, ref: CheckpointRef, block: Sequence[Question]) -> None:
        began = self._clock()
        try:
            output = await self._run(
                self._infer,
                ref,
                np.concatenate([question.observations for question in block]),
                np.concatenate([question.states for question in block]),
            )
        except InferenceError as error:
            if len(block) > 1 and isinstance(error, RequestError | ModelError):
                # One of them may be at fault: asked alone, only that one is refused.
                for question in block:
                    await self._ask_together(ref, [question])
                return
            for question in block:
                _settle_question(question, error)
            return
        self._note(sum(question.n_rows for question in block), len(block), self._clock() - began)
        start = 0
        for question in block:
            rows = slice(start, start + question.n_rows)
            _settle_question(question, NetworkOutput(*(part[rows] for part in output)))
            start += question.n_rows


def _settle_question(question: Question, outcome: NetworkOutput | InferenceError) -> None:
    if question.answer.done():
        return  # its caller has gone
    if isinstance(outcome, InferenceError):
        question.answer.set_exception(outcome)
    else:
        question.answer.set_result(outcome)
