"""What can be wrong with a request; the server tells each with a status of its own."""


class LLMServeError(Exception):
    """The root of this package's errors."""


class InvalidFieldError(LLMServeError):
    """A value that does not fit; field: where it stands, as in episode_log.actions.3."""

    def __init__(self, field: str, rule: str) -> None:
        """Name the field and what it must be."""
        super().__init__(f"{field}: {rule}")
        self.field = field
        self.rule = rule


class EpisodeOrderError(LLMServeError):
    """A call that does not fit the episode: a step before reset, a grade before its end."""


class UnavailableError(LLMServeError):
    """Something that is needed is not there: a key, a model that answers."""
