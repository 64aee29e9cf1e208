"""Agents in any language: one JSON object a line, as docs/agents.md has it."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from arena.errors import AgentDiedError, InvalidOutputError
from arena.games.base import Game, GameSpec
from arena.parameters import Parameter, read_parameters
from arena.policies.base import Row
from arena.policies.line_policy import (
    HELLO_S,
    RELEASE,
    LineKind,
    LinePolicy,
    declare_program,
    read_program,
)
from arena.seeding import SEED_BITS

PROTOCOL = 1
# What a number of JSON holds exactly in every language.
_EXACT_BITS = 53
_Text = Annotated[str, msgspec.Meta(max_length=200)]

OPTIONS = Parameter("options", "", "told to the program as it is, such as level:3")


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """What a program says of itself, and what it wants to be told with each decision."""

    name: _Text = ""
    version: _Text = ""
    wants: Annotated[list[_Text], msgspec.Meta(max_length=10)] = []


class Action(msgspec.Struct, frozen=True, tag="action"):
    """The answer to a decision: the same id, and what its seat expects of its return, if known."""

    id: int
    action: int
    value: float | None = None


class Problem(msgspec.Struct, frozen=True, tag="error"):
    """A program says why it cannot decide."""

    message: str = ""


_answers: msgspec.json.Decoder[Hello | Action | Problem] = msgspec.json.Decoder(
    Hello | Action | Problem
)
OBSERVATION, DESCRIPTION, NAMES = "observation", "description", "action_names"
WANTS = (OBSERVATION, DESCRIPTION, NAMES)


class MessagePolicy(LinePolicy):
    """Asks by messages, one decision at a time."""

    def __init__(self, program: str, game: Game, *, release: str, options: str) -> None:
        """Keep what the program is told of the game."""
        super().__init__(program, release=release)
        spec = game.spec
        self._hello = {
            "type": "hello",
            "protocol": PROTOCOL,
            "options": options,
            "game": {
                "id": spec.id,
                "title": spec.title,
                "rules_version": spec.rules_version,
                "parameters": dict(game.parameters),
                "n_seats": spec.n_seats,
                "n_actions": spec.n_actions,
                "observation_shape": list(spec.observation_shape),
            },
        }
        self._wants: frozenset[str] = frozenset()
        self._n_asked = 0

    def greet(self) -> str:
        """Tell the program what will be played; return its name and version."""
        hello = self._exchange(self._hello, within_s=HELLO_S)
        if not isinstance(hello, Hello):
            raise InvalidOutputError(f"a hello was asked for, got {_name_type(hello)}")
        if unknown := sorted(set(hello.wants).difference(WANTS)):
            choices = ", ".join(WANTS)
            raise InvalidOutputError(f"wants {unknown[0]!r:.80}: choose of {choices}")
        self._wants = frozenset(hello.wants)
        return f"{hello.name} {hello.version}".strip()

    def ask(self, row: Row) -> tuple[int, float | None]:
        """Return what the program decides. Raises InvalidOutputError for no such answer."""
        self._n_asked += 1
        answer = self._exchange(self._describe_row(row))
        if not isinstance(answer, Action):
            raise InvalidOutputError(f"an action was asked for, got {_name_type(answer)}")
        # An answer that comes too late must not decide another position.
        if answer.id != self._n_asked:
            raise InvalidOutputError(f"an answer to {self._n_asked} was due, got {answer.id}")
        return answer.action, answer.value

    def _describe_row(self, row: Row) -> dict[str, Any]:
        """Return the decision as the program reads it: only what its seat may know."""
        state, seat = row.state, row.seat
        legal = list(state.legal_actions())
        message = {
            "type": "decide",
            "id": self._n_asked,
            "seat": seat,
            "n_moves": len(state.actions),
            "legal_actions": legal,
            "seed": row.seed() >> SEED_BITS - _EXACT_BITS,
        }
        if OBSERVATION in self._wants:
            message[OBSERVATION] = state.observation(seat).ravel().tolist()
        if DESCRIPTION in self._wants:
            message[DESCRIPTION] = state.describe(seat)
        if NAMES in self._wants:
            message[NAMES] = [state.action_name(action) for action in legal]
        return message

    def _exchange(
        self, message: Mapping[str, object], *, within_s: float | None = None
    ) -> Hello | Action | Problem:
        """Return the answer to a message. Raises AgentDiedError where the program gives up."""
        self.line.send(msgspec.json.encode(message).decode())
        text = self.line.receive(within_s=within_s)
        try:
            answer = _answers.decode(text)
        # Deep nesting is an error of Python's own.
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidOutputError(f"no message: {error}: {text!r:.120}") from None
        if isinstance(answer, Problem):
            raise AgentDiedError(f"it says: {answer.message:.400}")
        return answer


def _name_type(answer: Hello | Action | Problem) -> str:
    return repr(type(answer).__struct_config__.tag)


class MessageKind(LineKind):
    """What `program` and `http_agent` share; they differ in how the messages travel."""

    id = ""
    is_remote = False
    parameters = (declare_program("mine"), OPTIONS, RELEASE)

    def refusal(self, spec: GameSpec) -> str | None:
        """Return None: it plays every game, as the program is told what it needs."""
        del spec
        return None

    def build(self, game: Game, parameters: Mapping[str, object]) -> MessagePolicy:
        """Return the policy. Raises ParameterError."""
        values = read_parameters(self.id, self.parameters, parameters)
        program, release = read_program(self.id, values), str(values[RELEASE.name])
        policy = MessagePolicy(program, game, release=release, options=str(values[OPTIONS.name]))
        policy.is_remote = self.is_remote
        return policy
