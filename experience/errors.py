"""Errors of this app, each with the answer that the API gives."""

from http import HTTPStatus

from matches.errors import BrokerError


class StreamError(BrokerError):
    """The stream takes nothing now; `retry_after_s` says when to ask again. HTTP 503."""

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        """Keep why, and after how many seconds it may be otherwise."""
        self.retry_after_s = retry_after_s
        super().__init__(message)


class BodyError(Exception):
    """A body is not read: `status` says why in HTTP's words."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        """Keep the status of the answer."""
        self.status = status
        super().__init__(message)


class RoundError(Exception):
    """A version cannot play the matches that its run would learn from; the message says why."""
