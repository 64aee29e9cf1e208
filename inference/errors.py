"""What can go wrong between asking a network and its answer, by whose fault it is."""


class InferenceError(Exception):
    """Root of the errors of this package."""


class SettingsError(InferenceError):
    """An environment variable is missing or wrong."""

    def __init__(self, name: str, value: str, wanted: str) -> None:
        """Keep the variable, its value and what would be accepted."""
        self.name = name
        super().__init__(f"{name} is {value!r}: must be {wanted}")


class QueueFullError(InferenceError):
    """The queue takes no more now: slow down and ask again. Nobody's fault."""


class UnavailableError(InferenceError):
    """No answer before the deadline, or the checkpoint cannot be fetched: the platform's fault."""


class NoArchitectureError(UnavailableError):
    """Nothing here builds the network of a checkpoint: a plug-in is missing or broken."""


class RequestError(InferenceError):
    """The block does not fit the checkpoint, or holds NaN: the fault of the game or the order."""


class ModelError(InferenceError):
    """The network raised or answered NaN: the fault of its agent."""


class InvalidAnswerError(ModelError):
    """The network answered NaN or infinity."""
