"""Networks on the device: loaded once, the least recently used ones dropped over the limit."""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import torch

from arena.catalogs import PLUGINS
from arena.errors import CheckpointFileError
from arena.parameters import Value
from inference import model as models
from inference.batch_invariance import Forward
from inference.checkpoint_store import CheckpointStore
from inference.errors import NoArchitectureError, UnavailableError
from inference.model import Model
from inference.protocol import CheckpointRef, no_op

REFUSED_S = 10.0
"""How long a file that could not be loaded is remembered."""


class Form(NamedTuple):
    """What two networks have in common that can run as one."""

    architecture: str
    parameters: tuple[tuple[str, Value], ...]
    observation_shape: tuple[int, ...]
    n_actions: int


class Resident(NamedTuple):
    """A network on the device, and the way to call it (which may be compiled)."""

    checkpoint: str
    model: Model
    forward: Forward
    form: Form


class ModelCache:
    """The networks on the device, by the hash of their file."""

    def __init__(
        self,
        store: CheckpointStore,
        *,
        limit_bytes: int,
        device: torch.device,
        dtype: torch.dtype,
        prepare: Callable[[Model], Forward],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Load from the store; prepare makes of a fresh model what is called."""
        self.store, self.limit_bytes = store, limit_bytes
        self.device, self.dtype = device, dtype
        self.counts: Counter[str] = Counter()
        self._prepare, self._clock = prepare, clock
        self._residents: OrderedDict[str, Resident] = OrderedDict()
        self._refused: dict[str, tuple[float, type[UnavailableError], str]] = {}

    def __len__(self) -> int:
        return len(self._residents)

    @property
    def n_bytes(self) -> int:
        """What the weights of all residents take on the device."""
        return sum(resident.model.n_bytes for resident in self._residents.values())

    def held(self, checkpoint: str) -> Resident | None:
        """Return the network if it is on the device."""
        return self._residents.get(checkpoint)

    def get(self, ref: CheckpointRef, *, keep_alive: Callable[[], None] = no_op) -> Resident:
        """Return the network, loaded when it is not there.

        keep_alive is called around the slow steps. Raises UnavailableError, RequestError.
        """
        if ref.checkpoint in self._residents:
            self._residents.move_to_end(ref.checkpoint)
            return self._residents[ref.checkpoint]
        self._refuse_again(ref.checkpoint)
        resident = self._load(ref, keep_alive)
        self._residents[ref.checkpoint] = resident
        self.counts["models_loaded"] += 1
        while self.n_bytes > self.limit_bytes and len(self) > 1:
            self._evict()
        return resident

    def drop_others(self, checkpoint: str) -> bool:
        """Make room on the device; return False when there was nothing to drop."""
        others = [held for held in self._residents if held != checkpoint]
        for held in others:
            self._residents.move_to_end(held, last=False)
            self._evict()
        return bool(others)

    def _evict(self) -> None:
        self._residents.popitem(last=False)
        self.counts["models_evicted"] += 1

    def _refuse_again(self, checkpoint: str) -> None:
        until, kind, reason = self._refused.get(checkpoint, (0.0, UnavailableError, ""))
        if reason and self._clock() < until:
            raise kind(reason)
        self._refused.pop(checkpoint, None)

    def _load(self, ref: CheckpointRef, keep_alive: Callable[[], None]) -> Resident:
        keep_alive()
        path = self.store.path(ref, keep_alive=keep_alive)
        keep_alive()
        try:
            model = models.load(path, device=self.device, dtype=self.dtype)
        except (CheckpointFileError, FileNotFoundError) as error:
            # It was checked before it could play: what it lacks is on this machine, a plug-in or
            # the file itself, which another process may have removed.
            reason = f"checkpoint {ref.checkpoint[:12]} cannot be loaded here: {error}"
            kind = UnavailableError
            if isinstance(error, models.UnknownArchitectureError):
                kind = NoArchitectureError
                reason += f"; give gpu workers and play nodes the same {PLUGINS}"
            self._refused[ref.checkpoint] = (self._clock() + REFUSED_S, kind, reason)
            raise kind(reason) from error
        resident = Resident(ref.checkpoint, model, self._prepare(model), form_of(model))
        keep_alive()
        return resident


def form_of(model: Model) -> Form:
    """Return the form of a network."""
    seal = model.seal
    parameters = tuple(sorted(seal.parameters.items()))
    return Form(seal.architecture, parameters, seal.observation_shape, seal.n_actions)
