"""How a check fails: one line that names what is wrong and says what to change."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from arena.errors import ArenaError


class ConformanceError(ArenaError):
    """An entry does not keep to what every entry of its family must keep to."""


def require(is_kept: object, change: str) -> None:
    """Raise ConformanceError with what to change, unless it is kept."""
    if not is_kept:
        raise ConformanceError(change)


@contextmanager
def expect_error(kind: type[ArenaError], change: str, *, name: str = "") -> Iterator[None]:
    """Pass if the block raises this error, which names a parameter where a name is given.

    Raises ConformanceError with what to change if it raises nothing or another one.
    """
    try:
        yield
    except kind as error:
        require(not name or getattr(error, "name", None) == name, f"{change}: its error names it")
    except Exception as error:
        raise ConformanceError(f"{change}; it raised {type(error).__name__}: {error}") from error
    else:
        raise ConformanceError(change)


def run_check(check: Callable[..., object], *entries: object) -> str:
    """Return why a check fails, in one line; empty where it passes."""
    try:
        check(*entries)
    except ConformanceError as error:
        return " ".join(str(error).split())
    # What the code of a plug-in raises is its fault; with the line where it did.
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split())[:200]
        return f"raised {type(error).__name__}: {text}{_locate_error(error)}"
    return ""


def _locate_error(error: BaseException) -> str:
    """Return the last line of the traceback that tells an author where to look."""
    trace, last = error.__traceback__, None
    while trace is not None:
        last, trace = trace, trace.tb_next
    return "" if last is None else f" ({last.tb_frame.f_code.co_filename}:{last.tb_lineno})"


# What one check is called, and how it is run; it may return a line to tell, such as a speed.
NamedCheck = tuple[str, Callable[[], str | None]]


def bind_checks(
    checks: Sequence[Callable[..., None]], *entries: object, under: str = ""
) -> list[NamedCheck]:
    """Return checks bound to what they check; under: what else they are run on, such as a game."""
    label = f" on {under}" if under else ""
    names = (check.__name__.replace("_", " ") for check in checks)
    return [
        (f"{name}{label}", partial(check, *entries))
        for name, check in zip(names, checks, strict=True)
    ]
