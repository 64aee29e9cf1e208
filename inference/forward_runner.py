"""Forwards of one network: rows by its rule, halves where memory runs out, faults told apart."""

import logging
from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

from inference.batch_invariance import FREE, MOST_ROWS, Outputs, RowRule, find_row_rule
from inference.model_cache import LoadedModel, ModelShape

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
        # Rows per forward, for the checkpoints for which memory had run out.
        self.limits: dict[str, int] = {}
        self.rules: dict[ModelShape, RowRule] = {}
        self._is_deterministic, self._default_rule = is_deterministic, default_rule
        self._make_room = make_room
        self._is_here = device.type == "cpu" and dtype == torch.float32

    def run(self, loaded: LoadedModel, rows: Tensor, states: Tensor) -> Outputs:
        """Return logits, values and states of all rows, as float32 on the CPU.

        rows: [B, *shape] and states: [B, S], float32 on the CPU. Raises NetworkRaisedError, and
        NoMemoryError when even the smallest forward finds none.
        """
        rule, n_rows, answers, begin = self.rule_of(loaded), rows.shape[0], [], 0
        while begin < n_rows:
            limit = self.limits.get(loaded.checkpoint, MOST_ROWS)
            size = rule.split_rows(n_rows - begin, limit=limit)[0]
            end = min(n_rows, begin + size)
            try:
                answers.append(self._run_part(loaded, rows[begin:end], states[begin:end], size))
            except NoMemoryError:
                if not self._halve_limit(loaded, rule, size):
                    raise
            else:
                begin = end
        if len(answers) == 1:
            return answers[0]
        logits, values, after = (torch.cat(parts) for parts in zip(*answers, strict=True))
        return logits, values, after

    def run_uncounted(self, loaded: LoadedModel, rows: Tensor, states: Tensor) -> Outputs:
        """Return what `run` does, uncounted: nobody asked."""
        before = self.counts.copy()
        try:
            return self.run(loaded, rows, states)
        finally:
            self.counts = before

    def rule_of(self, loaded: LoadedModel) -> RowRule:
        """Return how many rows a forward of the network is given; found out once per form."""
        if not self._is_deterministic:
            return self._default_rule
        if loaded.form not in self.rules:
            self.rules[loaded.form] = self._find_rule(loaded)
        return self.rules[loaded.form]

    def to_device(self, tensor: Tensor) -> Tensor:
        """Return the tensor on the device, in the precision of the weights."""
        if self._is_here:
            return tensor
        return tensor.to(self.device, self.dtype, non_blocking=True)

    def to_host(self, outputs: Outputs) -> Outputs:
        """Return a network's answer as float32 on the CPU; waits for the device."""
        logits, values, after = outputs
        if self._is_here:
            return logits.float(), values.float(), after.float()
        return logits.float().cpu(), values.float().cpu(), after.float().cpu()

    def _find_rule(self, loaded: LoadedModel) -> RowRule:
        generator = torch.Generator().manual_seed(0)
        shapes = loaded.form.observation_shape, (loaded.model.state_size,)
        rows, states = (self.to_device(torch.randn(5, *s, generator=generator)) for s in shapes)
        try:
            rule = find_row_rule(loaded.forward, rows, states)
        except Exception as error:
            raise _classify_error(error) from error
        if not rule.is_proven:
            log.warning("%s: a row's bits depend on its place", loaded.form.architecture)
        return rule

    def _run_part(self, loaded: LoadedModel, rows: Tensor, states: Tensor, size: int) -> Outputs:
        """Return one forward of `size` rows, without those that fill it up."""
        n_rows = rows.shape[0]
        try:
            outputs = loaded.forward(
                self.to_device(_pad_rows(rows, size)), self.to_device(_pad_rows(states, size))
            )
            logits, values, after = self.to_host(outputs)
            expected = ((size, loaded.form.n_actions), (size,), (size, loaded.model.state_size))
            shapes = (logits.shape, values.shape, after.shape)
            if shapes != expected:
                raise NetworkRaisedError(
                    f"it answered logits, values, states {shapes}, not {expected}"
                )
        except Exception as error:
            raise _classify_error(error) from error
        self.counts["forwards"] += 1
        self.counts["rows"] += n_rows
        self.counts["filled_rows"] += size - n_rows
        if size == n_rows:
            return logits, values, after
        return logits[:n_rows], values[:n_rows], after[:n_rows]

    def _halve_limit(self, loaded: LoadedModel, rule: RowRule, size: int) -> bool:
        """Lower the limit of rows and return True, or False when it cannot be lower."""
        smallest = rule.split_rows(1, limit=1)[0]
        if size <= smallest:
            if self.limits.get(loaded.checkpoint) == smallest:
                return False
            self._make_room(loaded.checkpoint)
        self.limits[loaded.checkpoint] = limit = max(smallest, size // 2)
        self.counts["halvings"] += 1
        name = loaded.checkpoint[:12]
        log.warning("no memory for %d rows of %s: at most %d from now on", size, name, limit)
        return True


def is_out_of_memory(error: BaseException) -> bool:
    """Return True for what torch raises when a device or the machine has no memory left."""
    is_told = isinstance(error, RuntimeError) and any(word in str(error) for word in _NO_MEMORY)
    return is_told or isinstance(error, MemoryError)


def _classify_error(error: Exception) -> Exception:
    """Return whose fault it is: the device's when broken, of too little memory, the network's."""
    if is_out_of_memory(error):
        return NoMemoryError(str(error)[:_MAX_TEXT])
    if isinstance(error, torch.AcceleratorError | NetworkRaisedError):
        return error
    return NetworkRaisedError(f"{type(error).__name__}: {error}"[:_MAX_TEXT])


def _pad_rows(tensor: Tensor, size: int) -> Tensor:
    missing = size - tensor.shape[0]
    if not missing:
        return tensor
    return torch.cat([tensor, tensor.new_zeros(missing, *tensor.shape[1:])])
