"""What may go wrong: one root, and a class for every case in which a caller reacts differently."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any


class ClientError(Exception):
    """Everything that this package raises."""


class InputError(ClientError):
    """A value that cannot be sent; found out before the server was asked."""

    def __init__(self, field: str, message: str) -> None:
        """field: what was given wrongly; message: the value and what to do."""
        super().__init__(f"{field}: {message}")
        self.field = field


class UnreachableError(ClientError):
    """No answer came, although it was tried again."""


class AnswerError(ClientError):
    """The answer is not what the API says: another program, or another version of it."""


class ChecksumError(ClientError):
    """A file does not have the SHA-256 that it should have, also after it was fetched again."""


class WaitTimeoutError(ClientError):
    """What was waited for has not come in time; it goes on without the caller."""


@dataclass(frozen=True)
class Refusal:
    """A value that the server refused."""

    field: str
    message: str

    def __str__(self) -> str:
        """Return field and message; the message of many names the field already."""
        names_it = not self.field or self.message.startswith(self.field)
        return self.message if names_it else f"{self.field}: {self.message}"


class ProblemError(ClientError):
    """The server said no, as RFC 9457 has it."""

    def __init__(
        self, status: int, title: str, detail: str, *, instance: str = "", type_: str = ""
    ) -> None:
        """status: of HTTP; title: of the kind of problem; detail: of this one; instance: where."""
        super().__init__(status, title, detail)
        self.status = status
        self.title = title
        self.detail = detail
        self.instance = instance
        self.type = type_
        self.errors: tuple[Refusal, ...] = ()
        self.retry_after_s: float | None = None

    def __str__(self) -> str:
        """Return every refused value, else the detail."""
        if self.errors:
            return "; ".join(map(str, self.errors))
        return self.detail or f"{self.status} {self.title}"


class NotAllowedError(ProblemError):
    """A login is needed or not valid (401), or it does not suffice (403)."""


class NotThereError(ProblemError):
    """Nothing is at this address (404)."""


class ConflictError(ProblemError):
    """It does not fit the state of things (409)."""


class ThrottledError(ProblemError):
    """Too many requests (429); retry_after_s says for how long to wait."""


_KINDS: dict[int, type[ProblemError]] = {
    HTTPStatus.UNAUTHORIZED: NotAllowedError,
    HTTPStatus.FORBIDDEN: NotAllowedError,
    HTTPStatus.NOT_FOUND: NotThereError,
    HTTPStatus.CONFLICT: ConflictError,
    HTTPStatus.TOO_MANY_REQUESTS: ThrottledError,
}


def read_problem(status: int, body: Any, *, reason: str, instance: str) -> ProblemError:
    """Return the error that an answer stands for; of what is no problem+json only the status."""
    # A proxy in between answers as it likes: nothing of the body is taken for granted.
    members = body if isinstance(body, dict) else {}
    kind = _KINDS.get(status, ProblemError)
    error = kind(
        status,
        str(members.get("title", reason)),
        str(members.get("detail", f"{instance} answers {status} {reason}")),
        instance=str(members.get("instance", instance)),
        type_=str(members.get("type", "")),
    )
    refused = members.get("errors")
    error.errors = tuple(
        Refusal(str(row.get("field", "")), str(row.get("message", "")))
        for row in (refused if isinstance(refused, list) else [])
        if isinstance(row, dict)
    )
    return error
