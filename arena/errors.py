"""Errors of the pure core: each message names the value refused and what would be accepted."""

from collections.abc import Iterable
from difflib import get_close_matches


class ArenaError(Exception):
    """Root of every error that the pure core raises."""


class UnknownNameError(ArenaError):
    """A catalog has no entry of that name."""

    def __init__(self, family: str, name: str, choices: Iterable[str], *, hint: str = "") -> None:
        """Keep the family ("game", "policy" ...), the name asked for and the names there are."""
        self.family, self.name, self.choices = family, name, sorted(choices)
        self.hint = hint
        choice = f"choose one of {', '.join(self.choices)}" + (f" ({hint})" if hint else "")
        near = get_close_matches(name, self.choices, n=1)
        suggestion = f"did you mean {near[0]}? Else " if near else ""
        super().__init__(f"unknown {family} {name!r}: {suggestion}{choice}")


class CatalogError(ArenaError):
    """A catalog folder or one of its files is not what it must be."""


class ParameterError(ArenaError):
    """A parameter is unknown, of the wrong type or out of range."""

    def __init__(self, owner: str, name: str, reason: str) -> None:
        """Keep whose parameter it is, its name and why it was refused."""
        self.owner, self.name = owner, name
        super().__init__(f"{owner}: parameter {name!r} {reason}")


class UnsupportedGameError(ArenaError):
    """A policy cannot play this game."""


class IllegalActionError(ArenaError):
    """An action is not legal in this state."""


class InvalidReturnsError(ArenaError):
    """A game ended with returns that are not one finite float per seat."""


class GameFaultError(ArenaError):
    """A game says of a position what none can be: no agent can decide in it."""


class ServerLostError(ArenaError):
    """Nothing more comes from who plays a game elsewhere: nobody's fault, another attempt."""


class ServerFaultError(ArenaError):
    """A game server sent something that is no valid message, state or returns of its game."""


class PictureError(ArenaError):
    """A game has drawn what cannot be shown."""


class EmulatedFaultError(ArenaError):
    """The exception that arena.fault_injection raises on purpose."""


class MessageError(ArenaError):
    """A message does not have the form that its type declares."""


class InvalidOutputError(ArenaError):
    """Who decides answered what is no answer at all: the fault of its agent.

    A network what is no distribution over actions, a program what is no message of its protocol.
    """


class AgentDiedError(ArenaError):
    """The program of an agent ended, or its line broke, while it had to decide."""

    def __init__(self, detail: str, *, is_own_doing: bool = True) -> None:
        """is_own_doing: False when somebody else may have ended it, such as a full machine."""
        self.is_own_doing = is_own_doing
        super().__init__(detail)


class AgentSilentError(AgentDiedError):
    """The program of an agent has not said in time what it is, or takes no connection."""


class UnusableProgramError(ArenaError):
    """The program of an agent cannot be used on this machine: no fault of the agent."""


class ProgramListError(ArenaError):
    """The list of a node's programs has an entry that is none."""

    def __init__(self, entry: str, rule: str) -> None:
        """Keep the entry and what is wanted."""
        self.entry, self.rule = entry, rule
        super().__init__(f"EVALSITE_PROGRAMS: {entry!r:.80}: {rule}")


class NeedsError(ArenaError):
    """A match would need more of a node than can be written down."""

    def __init__(self, needs: str, limit: int) -> None:
        """Keep what it needs and how many characters that may have."""
        super().__init__(
            f"a match would need {needs}: at most {limit} characters, enter fewer programs in it"
        )


class CheckpointFileError(ArenaError):
    """A file is no checkpoint that can be used; the message says why and what would be."""


class ChunkError(ArenaError):
    """A chunk of experience, or a file of such chunks, does not hold what it must."""

    def __init__(self, field: str, reason: str, *, index: int | None = None) -> None:
        """Keep the field, empty for the whole, and the step in it that is wrong, if it is one."""
        self.field, self.index, self.reason = field, index, reason
        place = field if index is None else f"{field}[{index}]"
        super().__init__(f"{place} {reason}".lstrip())
