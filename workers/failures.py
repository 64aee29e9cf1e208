"""How a match ends whose agent or game failed: by whose fault, told in one line."""

import signal
from pathlib import Path
from reprlib import Repr
from traceback import extract_tb, format_exception_only
from typing import NamedTuple

import numpy as np

from arena.errors import (
    AgentDiedError,
    IllegalActionError,
    InvalidOutputError,
    ServerFaultError,
    ServerLostError,
    UnusableProgramError,
)
from arena.messages import MAX_DETAIL, Ending, Reason
from inference.errors import (
    InferenceError,
    InvalidAnswerError,
    ModelError,
    NoArchitectureError,
    UnavailableError,
)

# What a process does itself; any other signal may have come from elsewhere, as the SIGKILL of a
# machine that is out of memory, or the SIGABRT of a library that got none.
OWN_SIGNALS = frozenset(
    (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS, signal.SIGTRAP)
)
_SHOWN_BITS = 256


class Failure(NamedTuple):
    """How a match ends that cannot be played on."""

    ending: Ending
    reason: Reason
    detail: str

    @property
    def is_platform_fault(self) -> bool:
        """True when no agent and no game is to blame: it would strike the next match too."""
        return self.ending is Ending.INTERRUPTED or self.reason is Reason.NO_ARCHITECTURE


class _Brief(Repr):
    def repr_int(self, x: int, level: int) -> str:
        # An int of thousands of digits has no text in Python: its repr raises.
        if x.bit_length() > _SHOWN_BITS:
            return f"an int of {x.bit_length()} bits"
        return super().repr_int(x, level)


_brief = _Brief()
_brief.maxstring = _brief.maxother = 120


def read_action(answer: object) -> int | None:
    """Return the action as an int, or None unless it is one (a bool or a float is not)."""
    if type(answer) is int:
        return answer
    if isinstance(answer, (int, np.integer)) and not isinstance(answer, bool):
        return int(answer)
    return None


def failure_of_policy(error: Exception) -> Failure:
    """Return by whose fault an agent has not decided; whatever it raises is its own fault.

    But for memory, which others in its player may have taken: that is no proof yet.
    """
    ending = Ending.FAILED if isinstance(error, MemoryError) else Ending.FORFEIT
    return Failure(ending, Reason.CRASH, describe_error(error))


def failure_of_network(error: Exception) -> Failure:
    """Return by whose fault a network has not decided."""
    detail = one_line(str(error))
    match error:
        case NoArchitectureError():
            return Failure(Ending.FAILED, Reason.NO_ARCHITECTURE, detail)
        case UnavailableError():
            return Failure(Ending.INTERRUPTED, Reason.GPU_LOST, detail)
        case InvalidOutputError() | InvalidAnswerError():
            return Failure(Ending.FORFEIT, Reason.INVALID, detail)
        case ModelError():
            return Failure(Ending.FORFEIT, Reason.CRASH, detail)
        case InferenceError():
            return Failure(Ending.FAILED, Reason.ERROR, detail)
        case _:
            return failure_of_policy(error)


def failure_of_line(error: Exception) -> Failure:
    """Return by whose fault a program has not decided; one that cannot be used here is nobody's."""
    detail = one_line(str(error))
    match error:
        case UnusableProgramError():
            return Failure(Ending.INTERRUPTED, Reason.PROGRAM_LOST, detail)
        case AgentDiedError(is_own_doing=is_own_doing):
            # Else as by a machine that is out of memory: proof only if another attempt ends so.
            ending = Ending.FORFEIT if is_own_doing else Ending.FAILED
            return Failure(ending, Reason.CRASH, one_line(f"twice over one decision: {error}"))
        case InvalidOutputError():
            return Failure(Ending.FORFEIT, Reason.INVALID, detail)
        case IllegalActionError():
            return Failure(Ending.FORFEIT, Reason.ILLEGAL, detail)
        case _:
            # No code of a program runs here: the game could not tell it the position.
            return Failure(Ending.FAILED, Reason.ERROR, describe_error(error))


def failure_of_question(error: Exception) -> Failure:
    """Return by whose fault a network could not be asked: else than its own, it is the game's."""
    if isinstance(error, InferenceError | InvalidOutputError):
        return failure_of_network(error)
    return Failure(Ending.FAILED, Reason.ERROR, describe_error(error))


def failure_of_server(error: ServerLostError | ServerFaultError) -> Failure:
    """Return how a match ends whose game is played elsewhere; no agent is to blame for that."""
    detail = one_line(str(error))
    if isinstance(error, ServerLostError):
        return Failure(Ending.INTERRUPTED, Reason.SERVER_LOST, detail)
    return Failure(Ending.FAILED, Reason.SERVER_FAULT, detail)


def describe_value(answer: object) -> str:
    """Return a short text for any object, also for one whose repr raises."""
    return one_line(_brief.repr(answer))


def describe_error(error: BaseException) -> str:
    """Return the error and where it was raised, in one line."""
    text = format_exception_only(error)[-1].strip()
    frames = extract_tb(error.__traceback__)
    if frames:
        place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
        return one_line(text, MAX_DETAIL - len(place)) + one_line(place)
    return one_line(text)


def one_line(text: str, limit: int = MAX_DETAIL) -> str:
    """Return at most `limit` printable characters: any database and any terminal takes them."""
    cut = text[:limit]
    return cut if cut.isprintable() else "".join(c if c.isprintable() else " " for c in cut)
