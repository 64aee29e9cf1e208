"""Yardsticks as policies of the platform: whole settings, handed out one choice at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from weakref import WeakKeyDictionary

from arena.errors import ParameterError
from arena.games.base import Game, GameSpec
from arena.games.llmserve.agents import Decide, find_choices, read_settings, tell_settings
from arena.games.llmserve.rules import PARTS, LLMServeState
from arena.games.llmserve.settings import Settings, choose
from arena.parameters import Parameter, Value
from arena.policies.base import Row, accepted

Build = Callable[[Mapping[str, Value]], Decide]


class SettingsPolicy:
    """Decides a window at its first choice and keeps to it until the sixth."""

    def __init__(self, decide: Decide) -> None:
        """decide: returns the settings of a window."""
        self._decide = decide
        self._choices: WeakKeyDictionary[LLMServeState, list[int]] = WeakKeyDictionary()

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return the next choice of each row."""
        return [self._choose_next(cast(LLMServeState, row.state)) for row in rows]

    def _choose_next(self, state: LLMServeState) -> int:
        # Also where an episode goes on elsewhere in the middle of a window.
        if not state.chosen or state not in self._choices:
            last = choose(state.last)
            self._choices[state] = find_choices(self._decide(state.server, last))
        return self._choices[state][len(state.chosen)]


@dataclass(frozen=True)
class SettingsKind:
    """A kind of policy that sets the server of LLMServe; build: makes it of its parameters."""

    id: str
    title: str
    make: Build
    parameters: tuple[Parameter, ...] = ()
    version: int = 1
    is_batched: bool = False  # lockstep would gain nothing and put more matches at risk of a kill

    def refusal(self, spec: GameSpec) -> str | None:
        """Return why the game cannot be played, or None."""
        return None if spec.observation_parts == PARTS else "it sets servers of LLMServe"

    def build(self, game: Game, parameters: Mapping[str, object]) -> SettingsPolicy:
        """Return the policy. Raises ParameterError or UnsupportedGameError."""
        return SettingsPolicy(self.make(accepted(self, game, parameters)))


def take_settings(owner: str, given: Mapping[str, Value], name: str) -> Settings:
    """Return the settings that a parameter spells, all of them choices. Raises ParameterError."""
    try:
        settings = read_settings(str(given[name]))
    except ValueError as error:
        raise ParameterError(owner, name, str(error)) from None
    nearest = choose(find_choices(settings))
    if nearest != settings:
        reason = f"has values that are no choices here, the nearest are {tell_settings(nearest)}"
        raise ParameterError(owner, name, reason)
    return settings
