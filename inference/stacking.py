"""Sibling checkpoints (one architecture, equal shapes) answered in one forward, where that pays.

Whether it pays, and whether the bits are those of separate forwards, is tried out once for each
form, number of networks and rows each, with random rows on the device itself.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from inference.batch_invariance import Outputs
from inference.forward_runner import Forwards
from inference.model_cache import LoadedModel, ModelShape
from inference.protocol import no_op
from inference.tracing import Program, trace_program

MOST_NETWORKS = 32
# Larger networks gain nothing: their arithmetic is all their time.
MOST_BYTES = 4 << 20
# Rows per network: with more, a forward of its own is as fast.
BUCKETS = (4, 16)
# So many forwards of siblings are run alone before weights are stacked for them (again): about what
# a trial costs.
PATIENCE = 1024
_REPEATS = 5
_GAIN = 1.1
_CLOSE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-1}
_MAX_TEXT = 300
_SANE = 1e6

log = logging.getLogger(__name__)


class StackTrial(NamedTuple):
    """What was found for a form, a number of networks and of rows each.

    stacked_s: one forward of all; alone_s: one forward of one network.
    """

    program: Program | None
    stacked_s: float
    alone_s: float
    reason: str = ""

    def pays_for(self, n_networks: int) -> bool:
        """Return True when so many are answered faster as one than alone."""
        return self.program is not None and self.stacked_s * _GAIN < n_networks * self.alone_s


class Stack(NamedTuple):
    """Weights of several networks, one behind the other; `places` by checkpoint."""

    form: ModelShape
    places: dict[str, int]
    size: int
    weights: list[Tensor]
    prepared: dict[int, Sequence[Tensor]]


class Stacks:
    """Finds what can run as one."""

    def __init__(
        self,
        get_model: Callable[[str], LoadedModel | None],
        *,
        must_be_equal: bool,
        limit_bytes: int,
        patience: int = PATIENCE,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Keep weights up to limit_bytes, beside the networks that `held` finds on the device.

        must_be_equal: only where the bits are proven to be those of separate forwards.
        """
        self.trials: dict[tuple[ModelShape, int, int], StackTrial] = {}
        self._held, self._must_be_equal = get_model, must_be_equal
        self._limit_bytes, self._patience, self._clock = limit_bytes, patience, clock
        self._stacks: OrderedDict[ModelShape, Stack] = OrderedDict()
        self._missed: dict[ModelShape, int] = {}
        self._hopeless: set[ModelShape] = set()
        self._recent: dict[ModelShape, OrderedDict[str, None]] = {}

    def can_take(self, loaded: LoadedModel, n_rows: int) -> bool:
        """Return True for what may run with its siblings."""
        is_small = n_rows <= BUCKETS[-1] and loaded.model.n_bytes <= MOST_BYTES
        return is_small and loaded.form not in self._hopeless

    def stack_for(
        self,
        loaded_models: Sequence[LoadedModel],
        n_rows: int,
        forwards: Forwards,
        *,
        keep_alive: Callable[[], None] = no_op,
    ) -> tuple[Stack, Program] | None:
        """Return the stack that can answer for some of these models, or None.

        loaded_models: of one form, distinct; n_rows: what each is given, one of BUCKETS; forwards:
        what answers them otherwise.
        """
        self._note_recent(loaded_models)
        form = loaded_models[0].form
        stack = self._stacks.get(form)
        missed = [r for r in loaded_models if stack is None or r.checkpoint not in stack.places]
        self._missed[form] = self._missed.get(form, 0) + len(missed)
        if missed and self._missed[form] >= self._patience:
            stack = self._build_stack(form)
        if stack is None:
            return None
        trial = self._find_trial(stack, forwards, n_rows, keep_alive)
        n_held = sum(loaded.checkpoint in stack.places for loaded in loaded_models)
        if trial.program is None or not trial.pays_for(n_held):
            return None
        self._stacks.move_to_end(form)
        return stack, trial.program

    def run(self, stack: Stack, program: Program, rows: Tensor, states: Tensor) -> Outputs:
        """Return logits, values and states of rows [N, R, *shape], states [N, R, S]."""
        n_rows = rows.shape[1]
        if n_rows not in stack.prepared:
            stack.prepared[n_rows] = program.prepare(*stack.weights)
        return program.run(*stack.prepared[n_rows], rows, states)

    def drop_all(self) -> None:
        """Drop all stacked weights: the device has no memory left."""
        self._stacks.clear()

    def _note_recent(self, loaded_models: Iterable[LoadedModel]) -> None:
        for loaded in loaded_models:
            recent = self._recent.setdefault(loaded.form, OrderedDict())
            recent[loaded.checkpoint] = None
            # In the order of their last use: the siblings asked last are those worth stacking.
            recent.move_to_end(loaded.checkpoint)
            if len(recent) > MOST_NETWORKS:
                recent.popitem(last=False)

    def _build_stack(self, form: ModelShape) -> Stack | None:
        """Return a new stack of the siblings asked last; it takes the place of the old one."""
        self._missed[form] = 0
        recent = [loaded for c in self._recent[form] if (loaded := self._held(c))]
        most = min(MOST_NETWORKS, self._limit_bytes // recent[-1].model.n_bytes)
        members = recent[-most:] if most else []
        if len(members) < 2:  # noqa: PLR2004 - one is no stack
            return None
        size = 1 << (len(members) - 1).bit_length()
        # Filled up by its last network: so there are few sizes to try out.
        filled = members + members[-1:] * (size - len(members))
        states = [loaded.model.module.state_dict() for loaded in filled]
        weights = [torch.stack([state[name] for state in states]) for name in states[0]]
        places = {loaded.checkpoint: place for place, loaded in enumerate(members)}
        self._stacks[form] = Stack(form, places, size, weights, {})
        n_bytes = [sum(w.nbytes for w in stack.weights) for stack in self._stacks.values()]
        # The new one, which is the last, stays however large it is.
        while len(n_bytes) > 1 and sum(n_bytes) > self._limit_bytes:
            self._stacks.popitem(last=False)
            n_bytes.pop(0)
        return self._stacks[form]

    def _find_trial(
        self, stack: Stack, forwards: Forwards, n_rows: int, keep_alive: Callable[[], None]
    ) -> StackTrial:
        key = (stack.form, stack.size, n_rows)
        if key not in self.trials:
            keep_alive()
            self.trials[key] = trial = self._try_out(stack, forwards, n_rows)
            form = stack.form.architecture
            description = f"{stack.size} networks {form} with {n_rows} rows each as one forward"
            if trial.program is not None:
                ratio = stack.size * trial.alone_s / trial.stacked_s
                log.info("%s: %.2f times as fast as alone", description, ratio)
            else:
                log.info("%s: not used, %s", description, trial.reason)
                self._hopeless.add(stack.form)
                del self._stacks[stack.form]
            keep_alive()
        return self.trials[key]

    def _try_out(self, stack: Stack, forwards: Forwards, n_rows: int) -> StackTrial:
        """Compare one forward of all with the networks' own, by bits and by time."""
        members = {i: model for c, i in stack.places.items() if (model := self._held(c))}
        first = next(iter(members.values()))
        # Always the same: a trial that is repeated finds the same bits.
        generator = torch.Generator().manual_seed(0)
        shape, state_size = stack.form.observation_shape, first.model.state_size
        rows = torch.randn(stack.size, n_rows, *shape, generator=generator)
        states = torch.randn(stack.size, n_rows, state_size, generator=generator)
        on_device = forwards.to_device(rows), forwards.to_device(states)
        try:
            program = trace_program(first.model.module, stack.weights, *on_device)
            prepared = program.prepare(*stack.weights)
            stacked = forwards.to_host(program.run(*prepared, *on_device))
            own = {i: forwards.run_uncounted(m, rows[i], states[i]) for i, m in members.items()}
        except torch.AcceleratorError:
            raise
        except Exception as error:
            # Whatever an architecture does that cannot be traced: its networks run alone.
            return StackTrial(None, 0.0, 0.0, f"{type(error).__name__}: {error}"[:_MAX_TEXT])
        reason = self._find_first_difference(stacked, own, forwards.dtype)
        if reason:
            return StackTrial(None, 0.0, 0.0, reason)
        stacked_s = self._time_runs(lambda: forwards.to_host(program.run(*prepared, *on_device)))
        alone_s = self._time_runs(lambda: forwards.run_uncounted(first, rows[0], states[0]))
        return StackTrial(program, stacked_s, alone_s)

    def _find_first_difference(
        self, stacked: Outputs, own: dict[int, Outputs], dtype: torch.dtype
    ) -> str:
        # One network that overflows must not spoil it for its siblings.
        sane = {
            i: answer
            for i, answer in own.items()
            if all(bool((p.abs() < _SANE).all()) for p in answer)
        }
        if not sane:
            return "no network answers sane numbers"
        close = _CLOSE[dtype]
        for place, answer in sane.items():
            pairs = [(part[place], other) for part, other in zip(stacked, answer, strict=True)]
            if self._must_be_equal and not all(torch.equal(a, b) for a, b in pairs):
                return "its bits differ from those of separate forwards"
            if not all(torch.allclose(a, b, rtol=close, atol=close) for a, b in pairs):
                return "it answers something else than separate forwards"
        return ""

    def _time_runs(self, run: Callable[[], object]) -> float:
        """Return the seconds of the fastest of some runs."""
        fastest = float("inf")
        for _ in range(_REPEATS):
            begun = self._clock()
            run()  # ends with the answer on the CPU
            fastest = min(fastest, self._clock() - begun)
        return fastest
