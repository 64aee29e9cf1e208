"""Several duties, of which one may fail: the others are done, then what was raised is raised."""

from collections.abc import Iterator
from contextlib import contextmanager


class Failures:
    """What some of several duties raised."""

    def __init__(self) -> None:
        """Begin without any."""
        self._errors: list[Exception] = []

    @contextmanager
    def kept(self, duty: str) -> Iterator[None]:
        """Keep what a duty raises, with its name, so that the next one is done."""
        try:
            yield
        except Exception as error:  # raised again by `throw`
            error.add_note(f"while {duty}")
            self._errors.append(error)

    def throw(self) -> None:
        """Raise what was kept, all together; nothing when nothing was."""
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            raise ExceptionGroup("several duties failed", self._errors)
