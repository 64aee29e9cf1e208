"""How a line of a log is written."""

import logging
from collections.abc import Iterator
from types import TracebackType
from typing import TypeAlias

from matches.store.away import is_unreachable

_ExcInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class PlainFormatter(logging.Formatter):
    """Without the traceback of an error that says the database is away.

    Every duty meets it, once a second: what is told once in a line is found among what else is.
    """

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802 - the name of logging
        """Return the traceback, or a line of what each error says, and what it kept from."""
        errors = list(_split_group(ei[1]))
        if not errors or not all(map(is_unreachable, errors)):
            return super().formatException(ei)
        return "\n".join(map(_describe_error, errors))


def _split_group(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the errors of a group, and of the groups in it."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _split_group(inner)
    elif error is not None:
        yield error


def _describe_error(error: BaseException) -> str:
    says = str(error).strip().partition("\n")[0]
    return ", ".join([f"{type(error).__name__}: {says}", *getattr(error, "__notes__", ())])
