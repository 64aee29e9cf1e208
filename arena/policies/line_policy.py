"""Policies whose decisions come over a line: a program beside the player, or an address.

The policy knows what is said, the line only carries text: whoever plays attaches one, as a network
is attached to a NetworkPolicy. Nothing is remembered between two decisions that an answer could
depend on, so that a fresh program goes on with any match.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from arena.errors import (
    AgentDiedError,
    AgentSilentError,
    InvalidOutputError,
    ParameterError,
    UnusableProgramError,
)
from arena.parameters import Parameter, Value
from arena.policies.base import Row
from arena.programs import NAME_RULE, is_program_name

PROGRAM = "program"
HELLO_S = 20.0
"""How long a program may take to say what it is; no time of a match runs meanwhile."""


class AgentLine(Protocol):
    """Carries texts without line breaks to who decides, and back."""

    def open(self) -> None:
        """Begin anew: what was there before is ended. Raises UnusableProgramError."""
        ...

    def send(self, text: str) -> None:
        """Send one line. Raises AgentDiedError."""
        ...

    def receive(self, *, within_s: float | None = None) -> str:
        """Return the next line, once it is there. Raises AgentDiedError and InvalidOutputError.

        within_s: so long after it was opened it is an AgentDiedError; None: as long as it takes.
        """
        ...

    def close(self) -> None:
        """End it."""
        ...


class LinePolicy(ABC):
    """A policy whose line is attached by whoever plays it; one program for many matches.

    A program that dies is started anew and asked once more: only one that dies again over the same
    decision is at fault, as is a player that an agent takes with it (workers.blame).
    """

    # Set by attach: a policy is built, and checked, where nothing is started.
    line: AgentLine
    # True: it is asked by HTTP at an address of the list; else its command is started.
    is_remote = False

    def __init__(self, program: str, *, release: str = "") -> None:
        """program: its entry in the list of programs; release: what it must say that it is."""
        self.program, self.release = program, release
        self.last_values: list[float | None] = []
        self._is_open = self._has_greeted = False
        # Why it is not started again: a hello that did not come in time.
        self._silence = ""

    def attach(self, line: AgentLine) -> None:
        """Take the line to ask over; before the first row."""
        self.line = line

    def prepare(self) -> None:
        """Start the program while no match waits; what is wrong is said again to those that ask."""
        with suppress(UnusableProgramError):
            self._open()

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return one action per row. Raises what the program or the platform did wrong."""
        self.last_values = []
        return [self._decide(row) for row in rows]

    @abstractmethod
    def greet(self) -> str:
        """Ask a program that was just started what it is; return its release."""

    @abstractmethod
    def ask(self, row: Row) -> tuple[int, float | None]:
        """Return the action for one row, and what the seat expects of its return, if it says so."""

    def _decide(self, row: Row) -> int:
        if self._silence:
            raise UnusableProgramError(self._silence)
        if not self._is_open:
            self._open()
        # Until it has answered: whatever goes wrong, the next decision is asked of a fresh one.
        self._is_open = False
        try:
            action, value = self.ask(row)
        except AgentDiedError:
            self._open()
            self._is_open = False
            action, value = self.ask(row)
        self._is_open = True
        self.last_values.append(value)
        return action

    def _open(self) -> None:
        """Start the program and hear what it is. Raises UnusableProgramError, AgentDiedError."""
        self.line.open()
        try:
            release = self.greet()
        except (AgentDiedError, InvalidOutputError) as error:
            # One that has played here before could else break off where it is about to lose.
            if self._has_greeted:
                raise
            why = f"program {self.program!r} does not start: {error}"
            # Waited for once: a move has less time than a hello, and its agent would be charged.
            self._silence = why if isinstance(error, AgentSilentError) else ""
            raise UnusableProgramError(why) from None
        if self.release and release != self.release:
            raise UnusableProgramError(
                f"program {self.program!r} says it is {release!r:.80}, the agent's is "
                f"{self.release!r:.80}: list the same program on every node"
            )
        self._is_open = self._has_greeted = True


class LineKind:
    """What the kinds of such policies share."""

    is_batched = False
    # Nobody knows what a program goes by: its clock, its memory, its own chance.
    is_repeatable = False
    parameters: tuple[Parameter, ...] = ()

    def list_programs(self, parameters: Mapping[str, object]) -> tuple[str, ...]:
        """Return the programs that a node must list to play an agent with these parameters."""
        (declared,) = (parameter for parameter in self.parameters if parameter.name == PROGRAM)
        return (str(parameters.get(PROGRAM, declared.default)),)


def declare_program(default: str) -> Parameter:
    """Return the parameter that names the program."""
    return Parameter(PROGRAM, default, "entry of EVALSITE_PROGRAMS on the play nodes")


RELEASE = Parameter("release", "", "what the program must say that it is; empty: whatever it is")


def read_program(kind: str, values: Mapping[str, Value]) -> str:
    """Return the name of the program. Raises ParameterError for one that no list can have."""
    name = str(values[PROGRAM])
    if not is_program_name(name):
        raise ParameterError(kind, PROGRAM, f"must be {NAME_RULE}, got {name!r:.80}")
    return name
