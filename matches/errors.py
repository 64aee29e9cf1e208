"""Errors of the database app; a caller that must react differently finds its own class here."""

from collections.abc import Sequence


class MatchError(Exception):
    """Root of the errors of this app."""


class BadInputError(MatchError):
    """A value that a user gave is refused; `field` names it, `reason` says why. HTTP 400."""

    def __init__(self, field: str, message: str) -> None:
        """Keep the field and say what is wrong with its value and what would be accepted."""
        self.field, self.reason = field, message
        super().__init__(f"{field}: {message}")


class BadRowsError(BadInputError):
    """Rows of a file are refused: `problems` names the place and the value of each. HTTP 400."""

    def __init__(self, field: str, problems: Sequence[str]) -> None:
        """Keep what is wrong, one line each."""
        self.problems = tuple(problems)
        super().__init__(field, "\n".join(problems))


class NoNodeError(MatchError):
    """No play node is alive that could play the matches."""


class BrokerError(MatchError):
    """The broker cannot be reached or refuses."""


class ConflictError(MatchError):
    """What is asked for does not fit the state that something is in. HTTP 409."""


class GoneError(MatchError):
    """What was kept is there no more, or not as it was. HTTP 410."""


class ForbiddenError(MatchError):
    """The caller may not do this. HTTP 403."""


class LastingRowError(MatchError):
    """A row that is kept as it was written was to be changed or deleted."""


class RepeatedKeyError(MatchError):
    """An idempotency key came again with another call. HTTP 422."""
