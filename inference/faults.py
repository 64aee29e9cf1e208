"""The error that each fault is for the one who asked."""

from collections.abc import Mapping

from inference.errors import (
    InferenceError,
    InvalidAnswerError,
    ModelError,
    NoArchitectureError,
    RequestError,
    UnavailableError,
)
from inference.forms import Fault, FaultKind

_ERRORS: Mapping[FaultKind, type[InferenceError]] = {
    FaultKind.BAD_REQUEST: RequestError,
    FaultKind.MODEL_RAISED: ModelError,
    FaultKind.MODEL_INVALID: InvalidAnswerError,
    FaultKind.UNAVAILABLE: UnavailableError,
    FaultKind.NO_ARCHITECTURE: NoArchitectureError,
}


def error_of(fault: Fault) -> InferenceError:
    """Return the error to raise."""
    return _ERRORS[fault.kind](fault.detail)
