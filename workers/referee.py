"""Judge what agents and games answer, and say in one line what was wrong."""

from pathlib import Path
from reprlib import Repr
from traceback import extract_tb, format_exception_only

import numpy as np

from arena.messages import MAX_DETAIL

_SHOWN_BITS = 256


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


def shown(answer: object) -> str:
    """Return a short text for any object, also for one whose repr raises."""
    return one_line(_brief.repr(answer))


def reason_of(error: BaseException) -> str:
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
