"""Answers blocks of any checkpoints with as few forwards as it can; isolates what goes wrong.

Blocks of one checkpoint are merged into one forward, and siblings with few rows may share one. What
one request or one network does wrong touches no other request.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from arena.policies.network_policy import NetworkOutput
from inference.batch_invariance import FREE, RowRule
from inference.batches import (
    Batch,
    Request,
    batch_of,
    describe_misfit,
    group_by_checkpoint,
    group_by_shape,
    has_nan,
    is_finite,
    merge_rows,
    to_numpy,
)
from inference.errors import NoArchitectureError, RequestError, UnavailableError
from inference.forward_runner import Forwards, NetworkRaisedError, NoMemoryError, is_out_of_memory
from inference.model_cache import LoadedModel, ModelCache
from inference.protocol import Answer, BlockRequest, CheckpointRef, Fault, FaultKind, no_op
from inference.stacking import BUCKETS, Stack, Stacks
from inference.tracing import Program

Answers = dict[int, Answer]


class Engine:
    """The networks of one device."""

    def __init__(
        self,
        models: ModelCache,
        *,
        stacks: Stacks | None,
        is_deterministic: bool,
        default_rule: RowRule = FREE,
    ) -> None:
        """Answer with the networks of the cache.

        is_deterministic: a row's bits do not depend on the rows beside it.
        """
        self.models, self.stacks = models, stacks
        self.forwards = Forwards(
            models.device,
            models.dtype,
            is_deterministic=is_deterministic,
            default_rule=default_rule,
            make_room=self._make_room,
        )
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> Counter[str]:
        """What has happened since the start, as Answerer.counts says, and faults by kind."""
        # Copied at once: metrics are read from another thread.
        parts = (self._counts, self.models.counts, self.forwards.counts)
        return sum((Counter(part) for part in parts), Counter())

    def answer(
        self, blocks: Sequence[BlockRequest], *, keep_alive: Callable[[], None] = no_op
    ) -> list[Answer]:
        """Return one answer per block, in order; a fault touches only its own block.

        Raises only what leaves the device unusable.
        """
        answers: Answers = {}
        with torch.inference_mode():
            waiting = []
            for batch in self._make_batches(blocks, answers, keep_alive):
                if self.stacks and self.stacks.can_take(batch.loaded, batch.n_rows):
                    waiting.append(batch)
                else:
                    self._run_batch(batch, answers)
            for siblings in group_by_shape(waiting):
                self._run_siblings(siblings, answers, keep_alive)
        self._counts["requests"] += len(blocks)
        self._counts.update(f"fault_{a.kind}" for a in answers.values() if isinstance(a, Fault))
        return [answers[index] for index in range(len(blocks))]

    def _make_batches(
        self, blocks: Sequence[BlockRequest], answers: Answers, keep_alive: Callable[[], None]
    ) -> Iterable[Batch]:
        """Yield what can be asked of each checkpoint, loaded one after the other."""
        for requests in group_by_checkpoint(blocks):
            try:
                loaded = self._load_by_any_link({r.block.ref for r in requests}, keep_alive)
            except NoArchitectureError as error:
                _refuse_requests(requests, FaultKind.NO_ARCHITECTURE, str(error), answers)
            except (UnavailableError, NoMemoryError) as error:
                _refuse_requests(requests, FaultKind.UNAVAILABLE, str(error), answers)
            except RequestError as error:
                _refuse_requests(requests, FaultKind.BAD_REQUEST, str(error), answers)
            else:
                fitting = _take_fitting(requests, loaded, answers)
                if fitting:
                    yield batch_of(loaded, fitting)

    def _load_by_any_link(
        self, refs: Iterable[CheckpointRef], keep_alive: Callable[[], None]
    ) -> LoadedModel:
        """Return the network, by the first of its links that works."""
        *others, last = sorted(refs)
        for ref in others:
            try:
                return self._load_model(ref, keep_alive)
            except UnavailableError:
                continue  # its link may have expired, another may have not
        return self._load_model(last, keep_alive)

    def _load_model(self, ref: CheckpointRef, keep_alive: Callable[[], None]) -> LoadedModel:
        try:
            return self.models.get(ref, keep_alive=keep_alive)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        self._make_room(ref.checkpoint)
        try:
            return self.models.get(ref, keep_alive=keep_alive)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise NoMemoryError(f"no memory to load {ref.checkpoint[:12]}") from error

    def _make_room(self, checkpoint: str) -> None:
        """Free what the device can do without while it runs this checkpoint."""
        self.models.drop_others(checkpoint)
        if self.stacks:
            self.stacks.drop_all()
        if self.models.device.type == "cuda":
            torch.cuda.empty_cache()

    def _run_batch(self, batch: Batch, answers: Answers) -> None:
        """Answer a batch with forwards of its own; when one raises, each request alone."""
        rows, states = (tensor[0] for tensor in self._merge_batches([batch], batch.n_rows))
        if not is_finite(rows, states):
            # Looked at one by one only now: that costs more than one look at the whole batch.
            broken = [request for request in batch.requests if has_nan(request.block)]
            reason = "the block holds NaN or infinity"
            _refuse_requests(broken, FaultKind.BAD_REQUEST, reason, answers)
            refused = {request.place for request in broken}
            clean = [r for r in batch.requests if r.place not in refused]
            if clean:
                self._run_batch(batch_of(batch.loaded, clean), answers)
            return
        try:
            output = self.forwards.run(batch.loaded, rows, states)
        except (NetworkRaisedError, NoMemoryError) as error:
            if len(batch.requests) == 1:
                is_network = isinstance(error, NetworkRaisedError)
                kind = FaultKind.MODEL_RAISED if is_network else FaultKind.UNAVAILABLE
                _refuse_requests(batch.requests, kind, str(error), answers)
                return
            for single in batch.split_requests():
                self._run_batch(single, answers)
        else:
            _deliver_answers(batch, to_numpy(output), answers, is_good=is_finite(*output))

    def _run_siblings(
        self, batches: Sequence[Batch], answers: Answers, keep_alive: Callable[[], None]
    ) -> None:
        """Answer batches of one form: those that can as one, the others alone."""
        if len(batches) == 1:
            self._run_batch(batches[0], answers)
            return
        most = max(batch.n_rows for batch in batches)
        n_rows = next(bucket for bucket in BUCKETS if most <= bucket)
        stacked: list[Batch] = []
        usable = None
        if self.stacks is not None:
            models = [batch.loaded for batch in batches]
            usable = self.stacks.stack_for(models, n_rows, self.forwards, keep_alive=keep_alive)
        if usable:
            stack, program = usable
            stacked = [batch for batch in batches if batch.loaded.checkpoint in stack.places]
            if not self._run_stacked(stack, program, stacked, n_rows, answers):
                stacked = []
        # Whatever the stack does not hold, or could not answer, runs alone.
        for batch in batches:
            if batch not in stacked:
                self._run_batch(batch, answers)

    def _run_stacked(
        self, stack: Stack, program: Program, batches: list[Batch], n_rows: int, answers: Answers
    ) -> bool:
        """Answer all batches with one forward, or return False when they must run alone."""
        # In the places of the stack, None where it has nothing to answer.
        placed: list[Batch | None] = [None] * stack.size
        for batch in batches:
            placed[stack.places[batch.loaded.checkpoint]] = batch
        rows, states = self._merge_batches(placed, n_rows)
        if self.stacks is None or not is_finite(rows, states):
            return False
        try:
            on_device = self.forwards.to_device(rows), self.forwards.to_device(states)
            outputs = self.forwards.to_host(self.stacks.run(stack, program, *on_device))
        except torch.AcceleratorError:
            raise
        except Exception:
            return False
        is_good, (logits, values, after) = is_finite(*outputs), to_numpy(outputs)
        for batch in batches:
            place = stack.places[batch.loaded.checkpoint]
            own = NetworkOutput(logits[place], values[place], after[place])
            _deliver_answers(batch, own, answers, is_good=is_good)
        self._counts["forwards"] += 1
        self._counts["stacked"] += 1
        self._counts["rows"] += sum(batch.n_rows for batch in batches)
        return True

    def _merge_batches(self, batches: Sequence[Batch | None], size: int) -> tuple[Tensor, Tensor]:
        return merge_rows(batches, size, is_pinned=self.models.device.type == "cuda")


def _refuse_requests(
    requests: Iterable[Request], kind: FaultKind, detail: str, answers: Answers
) -> None:
    answers.update((request.place, Fault(kind, detail)) for request in requests)


def _take_fitting(
    requests: Sequence[Request], loaded: LoadedModel, answers: Answers
) -> list[Request]:
    """Return the requests that fit the checkpoint; refuse the others."""
    fitting = []
    for request in requests:
        reason = describe_misfit(request, loaded)
        if reason:
            _refuse_requests([request], FaultKind.BAD_REQUEST, reason, answers)
        else:
            fitting.append(request)
    return fitting


def _deliver_answers(
    batch: Batch, output: NetworkOutput, answers: Answers, *, is_good: bool
) -> None:
    """Split the answer of a batch by request; unless is_good, some may hold NaN."""
    logits, values, states = output
    begin = 0
    for request in batch.requests:
        end = begin + request.n_rows
        own = NetworkOutput(logits[begin:end], values[begin:end], states[begin:end])
        if is_good or all(np.isfinite(part).all() for part in own):
            answers[request.place] = own
        else:
            reason = "the network answered NaN or infinity"
            _refuse_requests([request], FaultKind.MODEL_INVALID, reason, answers)
        begin = end
