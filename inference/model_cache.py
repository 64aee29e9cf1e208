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

# How long a file that could not be loaded is remembered.
REFUSED_S = 10.0


class ModelShape(NamedTuple):
    """What two networks have in common that can run as one."""

    architecture: str
    parameters: tuple[tuple[str, Value], ...]
    observation_shape: tuple[int, ...]
    n_actions: int


class LoadedModel(NamedTuple):
    """A network on the device, and the way to call it (which may be compiled)."""

    checkpoint: str
    model: Model
    forward: Forward
    form: ModelShape


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
        self._loaded_models: OrderedDict[str, LoadedModel] = OrderedDict()
        self._refused: dict[str, tuple[float, type[UnavailableError], str]] = {}

    def __len__(self) -> int:
        return len(self._loaded_models)

    @property
    def n_bytes(self) -> int:
        """What the weights of all loaded models take on the device."""
        return sum(loaded.model.n_bytes for loaded in self._loaded_models.values())

    def find_loaded(self, checkpoint: str) -> LoadedModel | None:
        """Return the network if it is on the device."""
        return self._loaded_models.get(checkpoint)

    def get(self, ref: CheckpointRef, *, keep_alive: Callable[[], None] = no_op) -> LoadedModel:
        """Return the network, loaded when it is not there.

        keep_alive is called around the slow steps. Raises UnavailableError, RequestError.
        """
        if ref.checkpoint in self._loaded_models:
            self._loaded_models.move_to_end(ref.checkpoint)
            return self._loaded_models[ref.checkpoint]
        until, kind, reason = self._refused.get(ref.checkpoint, (0.0, UnavailableError, ""))
        if reason and self._clock() < until:
            raise kind(reason)
        self._refused.pop(ref.checkpoint, None)
        loaded = self._load_model(ref, keep_alive)
        self._loaded_models[ref.checkpoint] = loaded
        self.counts["models_loaded"] += 1
        # One at least stays: a network that is larger than the limit is to be answered, too.
        while self.n_bytes > self.limit_bytes and len(self) > 1:
            self._evict_oldest()
        return loaded

    def drop_others(self, checkpoint: str) -> bool:
        """Make room on the device; return False when there was nothing to drop."""
        others = [other for other in self._loaded_models if other != checkpoint]
        for other in others:
            self._loaded_models.move_to_end(other, last=False)
            self._evict_oldest()
        return bool(others)

    def _evict_oldest(self) -> None:
        self._loaded_models.popitem(last=False)
        self.counts["models_evicted"] += 1

    def _load_model(self, ref: CheckpointRef, keep_alive: Callable[[], None]) -> LoadedModel:
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
            # Remembered for a while: reading a large file again for each batch would hold up all
            # others.
            self._refused[ref.checkpoint] = (self._clock() + REFUSED_S, kind, reason)
            raise kind(reason) from error
        loaded = LoadedModel(ref.checkpoint, model, self._prepare(model), shape_of(model))
        keep_alive()
        return loaded


def shape_of(model: Model) -> ModelShape:
    """Return the form of a network."""
    seal = model.seal
    parameters = tuple(sorted(seal.parameters.items()))
    return ModelShape(seal.architecture, parameters, seal.observation_shape, seal.n_actions)
