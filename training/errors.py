"""What goes wrong in training, as errors that say what to do."""


class TrainingError(Exception):
    """Something that a trainer cannot go on with."""


class SettingsError(TrainingError):
    """An environment variable has a value that cannot be used."""


class StateError(TrainingError):
    """A file holds no state of this run; the message says what does not fit."""


class UnavailableError(TrainingError):
    """A server does not answer, which is nobody's fault: the slice is ordered again."""
