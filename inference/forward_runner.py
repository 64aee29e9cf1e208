"""Forwards of one network: rows by its rule, halves where memory runs out, faults told apart."""

import logging
from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

from inference.batch_invariance import FREE, MOST_ROWS, Outputs, RowRule, proven
from inference.model_cache import Form, Resident

_MAX_TEXT = 400
_NO_MEMORY = ("out of memory", "can't allocate memory", "not enough memory")

log = logging.getLogger(__name__)


class NetworkRaisedError(Exception):
    """A network raised, or answered tensors of a wrong form."""


class NoMemoryError(Exception):
    """The device has no memory for a forward."""


class Forwards:
    """Runs networks one by one on a device."""

    def __init__(
        self,
        device: torch.device,
        dtype: torch.dtype,
        *,
        is_deterministic: bool,
        default_rule: RowRule = FREE,
        make_room: Callable[[str], None],
    ) -> None:
        """default_rule: for rows where nothing is promised of bits.

        make_room is called with the one checkpoint to keep when the device has no memory left.
        """
        self.device, self.dtype = device, dtype
        self.counts: Counter[str] = Counter()
        self.limits: dict[str, int] = {}
        """Rows per forward, for the checkpoints for which memory had run out."""
        self.rules: dict[Form, RowRule] = {}
        self._is_deterministic, self._default_rule = is_deterministic, default_rule
        self._make_room = make_room
        self._is_here = device.type == "cpu" and dtype == torch.float32

    def run(self, resident: Resident, rows: Tensor, states: Tensor) -> Outputs:
        """Return logits, values and states of all rows, as float32 on the CPU.

        rows: [B, *shape] and states: [B, S], float32 on the CPU. Raises NetworkRaisedError, and
        NoMemoryError when even the smallest forward finds none.
        """
        rule, n_rows, found, begin = self.rule_of(resident), rows.shape[0], [], 0
        while begin < n_rows:
            limit = self.limits.get(resident.checkpoint, MOST_ROWS)
            size = rule.parts(n_rows - begin, limit=limit)[0]
            end = min(n_rows, begin + size)
            try:
                found.append(self._part(resident, rows[begin:end], states[begin:end], size))
            except NoMemoryError:
                if not self._halve(resident, rule, size):
                    raise
            else:
                begin = end
        if len(found) == 1:
            return found[0]
        logits, values, after = (torch.cat(parts) for parts in zip(*found, strict=True))
        return logits, values, after

    def tried(self, resident: Resident, rows: Tensor, states: Tensor) -> Outputs:
        """Return what `run` does, uncounted: nobody asked."""
        before = self.counts.copy()
        try:
            return self.run(resident, rows, states)
        finally:
            self.counts = before

    def rule_of(self, resident: Resident) -> RowRule:
        """Return how many rows a forward of the network is given; found out once per form."""
        if not self._is_deterministic:
            return self._default_rule
        if resident.form not in self.rules:
            self.rules[resident.form] = self._found_out(resident)
        return self.rules[resident.form]

    def sent(self, tensor: Tensor) -> Tensor:
        """Return the tensor on the device, in the precision of the weights."""
        if self._is_here:
            return tensor
        return tensor.to(self.device, self.dtype, non_blocking=True)

    def received(self, found: Outputs) -> Outputs:
        """Return a network's answer as float32 on the CPU; waits for the device."""
        logits, values, after = found
        if self._is_here:
            return logits.float(), values.float(), after.float()
        return logits.float().cpu(), values.float().cpu(), after.float().cpu()

    def _found_out(self, resident: Resident) -> RowRule:
        generator = torch.Generator().manual_seed(0)
        shapes = resident.form.observation_shape, (resident.model.state_size,)
        rows, states = (self.sent(torch.randn(5, *s, generator=generator)) for s in shapes)
        try:
            rule = proven(resident.forward, rows, states)
        except Exception as error:
            raise _told_apart(error) from error
        if not rule.is_proven:
            log.warning("%s: a row's bits depend on its place", resident.form.architecture)
        return rule

    def _part(self, resident: Resident, rows: Tensor, states: Tensor, size: int) -> Outputs:
        """Return one forward of `size` rows, without those that fill it up."""
        n_rows = rows.shape[0]
        try:
            found = resident.forward(
                self.sent(_filled_up(rows, size)), self.sent(_filled_up(states, size))
            )
            logits, values, after = self.received(found)
            _check_shapes(resident, size, (logits, values, after))
        except Exception as error:
            raise _told_apart(error) from error
        self.counts["forwards"] += 1
        self.counts["rows"] += n_rows
        self.counts["filled_rows"] += size - n_rows
        if size == n_rows:
            return logits, values, after
        return logits[:n_rows], values[:n_rows], after[:n_rows]

    def _halve(self, resident: Resident, rule: RowRule, size: int) -> bool:
        """Lower the limit of rows and return True, or False when it cannot be lower."""
        smallest = rule.parts(1, limit=1)[0]
        if size <= smallest:
            if self.limits.get(resident.checkpoint) == smallest:
                return False
            self._make_room(resident.checkpoint)
        self.limits[resident.checkpoint] = limit = max(smallest, size // 2)
        self.counts["halvings"] += 1
        name = resident.checkpoint[:12]
        log.warning("no memory for %d rows of %s: at most %d from now on", size, name, limit)
        return True


def is_memory(error: BaseException) -> bool:
    """Return True for what torch raises when a device or the machine has no memory left."""
    is_told = isinstance(error, RuntimeError) and any(word in str(error) for word in _NO_MEMORY)
    return is_told or isinstance(error, MemoryError)


def _told_apart(error: Exception) -> Exception:
    """Return whose fault it is: the device's when broken, of too little memory, the network's."""
    if is_memory(error):
        return NoMemoryError(str(error)[:_MAX_TEXT])
    if isinstance(error, torch.AcceleratorError | NetworkRaisedError):
        return error
    return NetworkRaisedError(f"{type(error).__name__}: {error}"[:_MAX_TEXT])


def _filled_up(tensor: Tensor, size: int) -> Tensor:
    missing = size - tensor.shape[0]
    if not missing:
        return tensor
    return torch.cat([tensor, tensor.new_zeros(missing, *tensor.shape[1:])])


def _check_shapes(resident: Resident, size: int, found: Outputs) -> None:
    state_size, n_actions = resident.model.state_size, resident.form.n_actions
    wanted = ((size, n_actions), (size,), (size, state_size))
    shapes = tuple(part.shape for part in found)
    if shapes != wanted:
        raise NetworkRaisedError(f"it answered logits, values, states {shapes}, not {wanted}")
