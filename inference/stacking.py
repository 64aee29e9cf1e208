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
from inference.model_cache import Form, Resident
from inference.protocol import no_op
from inference.tracing import Program, trace

MOST_NETWORKS = 32
MOST_BYTES = 4 << 20
"""Larger networks gain nothing: their arithmetic is all their time."""
BUCKETS = (4, 16)
"""Rows per network: with more, a forward of its own is as fast."""
PATIENCE = 1024
"""So many forwards of siblings are run alone before weights are stacked for them (again): about
what a trial costs."""
_REPEATS = 5
_GAIN = 1.1
_CLOSE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-1}
_MAX_TEXT = 300
_SANE = 1e6

log = logging.getLogger(__name__)


class Trial(NamedTuple):
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

    form: Form
    places: dict[str, int]
    size: int
    weights: list[Tensor]
    prepared: dict[int, Sequence[Tensor]]


class Stacks:
    """Finds what can run as one."""

    def __init__(
        self,
        held: Callable[[str], Resident | None],
        *,
        must_be_equal: bool,
        limit_bytes: int,
        patience: int = PATIENCE,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Keep weights up to limit_bytes, beside the networks that `held` finds on the device.

        must_be_equal: only where the bits are proven to be those of separate forwards.
        """
        self.trials: dict[tuple[Form, int, int], Trial] = {}
        self._held, self._must_be_equal = held, must_be_equal
        self._limit_bytes, self._patience, self._clock = limit_bytes, patience, clock
        self._stacks: OrderedDict[Form, Stack] = OrderedDict()
        self._missed: dict[Form, int] = {}
        self._hopeless: set[Form] = set()
        self._recent: dict[Form, OrderedDict[str, None]] = {}

    def takes(self, resident: Resident, n_rows: int) -> bool:
        """Return True for what may run with its siblings."""
        is_small = n_rows <= BUCKETS[-1] and resident.model.n_bytes <= MOST_BYTES
        return is_small and resident.form not in self._hopeless

    def stack_for(
        self,
        residents: Sequence[Resident],
        n_rows: int,
        forwards: Forwards,
        *,
        keep_alive: Callable[[], None] = no_op,
    ) -> tuple[Stack, Program] | None:
        """Return the stack that answers those of the residents that it holds, or None.

        residents: of one form, distinct; n_rows: what each is given, one of BUCKETS; forwards:
        what answers them otherwise.
        """
        self._note(residents)
        form = residents[0].form
        stack = self._stacks.get(form)
        missed = [r for r in residents if stack is None or r.checkpoint not in stack.places]
        self._missed[form] = self._missed.get(form, 0) + len(missed)
        if missed and self._missed[form] >= self._patience:
            stack = self._stacked(form)
        if stack is None:
            return None
        trial = self._trial(stack, forwards, n_rows, keep_alive)
        n_held = sum(resident.checkpoint in stack.places for resident in residents)
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

    def forget(self) -> None:
        """Drop all stacked weights: the device has no memory left."""
        self._stacks.clear()

    def _note(self, residents: Iterable[Resident]) -> None:
        for resident in residents:
            recent = self._recent.setdefault(resident.form, OrderedDict())
            recent[resident.checkpoint] = None
            recent.move_to_end(resident.checkpoint)
            if len(recent) > MOST_NETWORKS:
                recent.popitem(last=False)

    def _stacked(self, form: Form) -> Stack | None:
        """Return a new stack of the siblings asked last; it takes the place of the old one."""
        self._missed[form] = 0
        asked = [resident for c in self._recent[form] if (resident := self._held(c))]
        most = min(MOST_NETWORKS, self._limit_bytes // asked[-1].model.n_bytes)
        members = asked[-most:] if most else []
        if len(members) < 2:  # noqa: PLR2004 - one is no stack
            return None
        size = 1 << (len(members) - 1).bit_length()
        # Filled up by its last network: so there are few sizes to try out.
        filled = members + members[-1:] * (size - len(members))
        states = [resident.model.module.state_dict() for resident in filled]
        weights = [torch.stack([state[name] for state in states]) for name in states[0]]
        places = {resident.checkpoint: place for place, resident in enumerate(members)}
        self._stacks[form] = Stack(form, places, size, weights, {})
        while len(self._stacks) > 1 and self._n_bytes() > self._limit_bytes:
            self._stacks.popitem(last=False)
        return self._stacks[form]

    def _n_bytes(self) -> int:
        return sum(weight.nbytes for stack in self._stacks.values() for weight in stack.weights)

    def _trial(
        self, stack: Stack, forwards: Forwards, n_rows: int, keep_alive: Callable[[], None]
    ) -> Trial:
        key = (stack.form, stack.size, n_rows)
        if key not in self.trials:
            keep_alive()
            self.trials[key] = trial = self._try_out(stack, forwards, n_rows)
            log.info("%s", _told(key, trial))
            if trial.program is None:
                self._hopeless.add(stack.form)
                del self._stacks[stack.form]
            keep_alive()
        return self.trials[key]

    def _try_out(self, stack: Stack, forwards: Forwards, n_rows: int) -> Trial:
        """Compare one forward of all with the networks' own, by bits and by time."""
        members = {i: held for c, i in stack.places.items() if (held := self._held(c))}
        first = next(iter(members.values()))
        rows, states = _random(stack, n_rows, first.model.state_size)
        sent = forwards.sent(rows), forwards.sent(states)
        try:
            program = trace(first.model.module, stack.weights, *sent)
            prepared = program.prepare(*stack.weights)
            found = forwards.received(program.run(*prepared, *sent))
            own = {i: forwards.tried(m, rows[i], states[i]) for i, m in members.items()}
        except torch.AcceleratorError:
            raise
        except Exception as error:
            # Whatever an architecture does that cannot be traced: its networks run alone.
            return Trial(None, 0.0, 0.0, f"{type(error).__name__}: {error}"[:_MAX_TEXT])
        reason = self._first_difference(found, own, forwards.dtype)
        if reason:
            return Trial(None, 0.0, 0.0, reason)
        stacked_s = self._timed(lambda: forwards.received(program.run(*prepared, *sent)))
        alone_s = self._timed(lambda: forwards.tried(first, rows[0], states[0]))
        return Trial(program, stacked_s, alone_s)

    def _first_difference(self, found: Outputs, own: dict[int, Outputs], dtype: torch.dtype) -> str:
        # One network that overflows must not spoil it for its siblings.
        sane = {i: one for i, one in own.items() if all(bool((p.abs() < _SANE).all()) for p in one)}
        if not sane:
            return "no network answers sane numbers"
        reasons = (self._difference(i, found, one, dtype) for i, one in sane.items())
        return next(filter(None, reasons), "")

    def _difference(self, place: int, found: Outputs, own: Outputs, dtype: torch.dtype) -> str:
        pairs = [(part[place], alone) for part, alone in zip(found, own, strict=True)]
        if self._must_be_equal and not all(torch.equal(a, b) for a, b in pairs):
            return "its bits differ from those of separate forwards"
        close = _CLOSE[dtype]
        if not all(torch.allclose(a, b, rtol=close, atol=close) for a, b in pairs):
            return "it answers something else than separate forwards"
        return ""

    def _timed(self, run: Callable[[], object]) -> float:
        """Return the seconds of the fastest of some runs."""
        fastest = float("inf")
        for _ in range(_REPEATS):
            begun = self._clock()
            run()  # ends with the answer on the CPU
            fastest = min(fastest, self._clock() - begun)
        return fastest


def _random(stack: Stack, n_rows: int, state_size: int) -> tuple[Tensor, Tensor]:
    """Return rows and states for a trial; always the same."""
    generator = torch.Generator().manual_seed(0)
    shape = stack.form.observation_shape
    rows = torch.randn(stack.size, n_rows, *shape, generator=generator)
    return rows, torch.randn(stack.size, n_rows, state_size, generator=generator)


def _told(key: tuple[Form, int, int], trial: Trial) -> str:
    form, size, n_rows = key
    what = f"{size} networks {form.architecture} with {n_rows} rows each as one forward"
    if trial.program is None:
        return f"{what}: not used, {trial.reason}"
    ratio = size * trial.alone_s / trial.stacked_s
    return f"{what}: {ratio:.2f} times as fast as alone"
