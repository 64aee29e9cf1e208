"""What travels between clients, the queue and the engine."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from arena.policies.network_policy import FloatBatch, NetworkOutput
from inference.errors import (
    InferenceError,
    InvalidAnswerError,
    ModelError,
    NoArchitectureError,
    RequestError,
    UnavailableError,
)


class CheckpointRef(NamedTuple):
    """Which network is asked, and where its file is fetched.

    checkpoint: SHA-256 of the sealed file, 64 hex digits; source: path and query of the signed
    link, relative to the web server.
    """

    checkpoint: str
    source: str


class BlockRequest(NamedTuple):
    """B rows for one checkpoint.

    observations: float32 [B, *shape]; states: float32 [B, S], S = 0 when feed-forward. Both may be
    read-only views of what came over the wire.
    """

    ref: CheckpointRef
    observations: FloatBatch
    states: FloatBatch


class FaultKind(StrEnum):
    """By whose fault a request has no answer."""

    # The block does not fit the checkpoint, or holds NaN.
    BAD_REQUEST = "bad_request"
    MODEL_RAISED = "model_raised"
    # The network answered NaN or infinity.
    MODEL_INVALID = "model_invalid"
    # The checkpoint cannot be fetched, or does not fit into memory: the platform's fault.
    UNAVAILABLE = "unavailable"
    # Nothing here builds the network of the checkpoint: the platform's fault, too.
    NO_ARCHITECTURE = "no_architecture"


class Fault(NamedTuple):
    """Why one request has no answer; the other requests of its batch are not touched by it."""

    kind: FaultKind
    detail: str


Answer = NetworkOutput | Fault

_ERRORS: Mapping[FaultKind, type[InferenceError]] = {
    FaultKind.BAD_REQUEST: RequestError,
    FaultKind.MODEL_RAISED: ModelError,
    FaultKind.MODEL_INVALID: InvalidAnswerError,
    FaultKind.UNAVAILABLE: UnavailableError,
    FaultKind.NO_ARCHITECTURE: NoArchitectureError,
}


def error_of(fault: Fault) -> InferenceError:
    """Return the error that a fault is for the one who asked."""
    return _ERRORS[fault.kind](fault.detail)


def no_op() -> None:
    """Do nothing."""


class Answerer(Protocol):
    """Answers blocks of any checkpoints; the engine is one."""

    @property
    def counts(self) -> Mapping[str, int]:
        """What has happened since the start, only ever growing.

        At least: forwards, rows (through the network, without padding), models_loaded,
        models_evicted, halvings (batches halved for want of memory), stacked (forwards that ran
        several checkpoints at once).
        """
        ...

    def answer(
        self, blocks: Sequence[BlockRequest], *, keep_alive: Callable[[], None] = no_op
    ) -> list[Answer]:
        """Return one answer per block, in order; a fault touches only its own block.

        keep_alive is called about every second while something long goes on (a model loads).
        """
        ...
