"""How a line of a log is written."""

import logging
from types import TracebackType
from typing import TypeAlias

from matches.store.away import is_away

_ExcInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class PlainFormatter(logging.Formatter):
    """Without the traceback of an error that says the database is away.

    Every duty meets it, once a second: what is told once in a line is found among what else is.
    """

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802 - the name of logging
        """Return the traceback, or the first line of what the error says."""
        if not _tells_away(ei[1]):
            return super().formatException(ei)
        return str(ei[1]).strip().partition("\n")[0]


def _tells_away(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_tells_away, error.exceptions))
    return is_away(error)
