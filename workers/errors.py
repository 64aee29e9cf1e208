"""Errors of play nodes."""


class WorkerError(Exception):
    """Root of the errors of a play node."""


class SettingsError(WorkerError):
    """An environment variable has a value that a play node cannot use."""

    def __init__(self, name: str, value: str, wanted: str) -> None:
        self.name, self.value = name, value
        super().__init__(f"{name}={value!r}: must be {wanted}")


class OrderError(WorkerError):
    """This node cannot play an order."""


class ChannelError(WorkerError):
    """The other end of a channel is gone, does not read, or sent what is no message."""


class PublishError(WorkerError):
    """The broker did not take a report."""


class NoticeError(WorkerError):
    """A metadata address does not answer, or not as its cloud does."""
