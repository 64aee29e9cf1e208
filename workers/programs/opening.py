"""Which line an agent gets: by its entry in the list of this node."""

from collections.abc import Mapping

from arena.errors import AgentDiedError, UnusableProgramError
from arena.policies.line_policy import AgentLine, LinePolicy
from arena.programs import VARIABLE, read_programs
from workers.programs.child import ChildLine
from workers.programs.http_line import HttpLine


class UnusableLine:
    """A line to nobody: whoever wants it opened is told why it cannot be."""

    def __init__(self, why: str) -> None:
        self._why = why

    def open(self) -> None:
        """Raise UnusableProgramError."""
        raise UnusableProgramError(self._why)

    def send(self, text: str) -> None:
        """Drop it."""

    def receive(self, *, within_s: float | None = None) -> str:
        """Raise AgentDiedError."""
        del within_s
        raise AgentDiedError(self._why)

    def close(self) -> None:
        """End nothing."""


def open_line(policy: LinePolicy, environ: Mapping[str, str]) -> AgentLine:
    """Return the line of a policy; nothing is started yet. Raises ProgramListError."""
    program = read_programs(environ.get(VARIABLE, "")).get(policy.program)
    name = policy.program
    if program is None:
        return UnusableLine(f"program {name!r} is not listed here: {VARIABLE} names it")
    if policy.is_remote != bool(program.address):
        other = "a command" if policy.is_remote else "an address, for policy http_agent alone"
        return UnusableLine(f"program {name!r} is {other}, by {VARIABLE} of this node")
    if program.address:
        return HttpLine(program.address)
    return ChildLine(name, program.command, environ)
