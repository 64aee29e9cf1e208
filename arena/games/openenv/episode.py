"""An episode of an environment: choices make actions, observations make numbers. No socket here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from arena.errors import IllegalActionError, ServerFaultError
from arena.games.base import OVER
from arena.games.observations import Parts, parts
from arena.games.openenv.messages import Observation
from arena.games.openenv.numbers import MAX, Reader

STATE: Final = "state"
"""The first name of a score that stands in the state of the environment."""


@dataclass(frozen=True)
class Layout:
    """How actions and observations of an environment are laid out for agents.

    fields: what is chosen for each field of an action, one field after the other; the last choice
    sends the action. readers: by field of the observation. score: a dotted name in the last
    observation, or in `state`; empty: the sum of the rewards.
    """

    name: str
    fields: Mapping[str, Sequence[object]]
    readers: Mapping[str, Reader]
    score: str = ""

    @property
    def n_choices(self) -> int:
        """Numbers that say what is chosen so far and which field is next; 0 with one field."""
        return 2 * len(self.fields) if len(self.fields) > 1 else 0

    @property
    def size(self) -> int:
        """Numbers in what an agent sees."""
        return sum(reader.size for reader in self.readers.values()) + self.n_choices

    @property
    def n_actions(self) -> int:
        """Choices for the field that has the most."""
        return max(map(len, self.fields.values()))

    def list_parts(self) -> Parts:
        """Return what each number holds."""
        own = [(name, reader.size) for name, reader in self.readers.items()]
        if not self.n_choices:
            return parts(*own)
        n = len(self.fields)
        chosen, following = "choices so far, 0 to 1", "the field to choose next, one-hot"
        return parts(*own, (chosen, n), (following, n))

    def read_numbers(self, observation: Mapping[str, object]) -> list[float]:
        """Return the numbers of an observation. Raises ServerFaultError naming the field."""
        numbers: list[float] = []
        for name, reader in self.readers.items():
            try:
                numbers += reader.read(_find_value(observation, name))
            except (ValueError, LookupError) as error:
                raise ServerFaultError(f"its observation: {name} {error}") from error
        return numbers


class Episode:
    """One episode; `actions` are the choices so far, of all steps."""

    def __init__(self, layout: Layout) -> None:
        """Wait for what `reset` shows."""
        self._layout = layout
        self._names = tuple(layout.fields)
        self.actions: list[int] = []
        self._chosen: list[int] = []
        self._numbers: list[float] = []
        self._total = self._reward = 0.0
        self._n_steps, self._is_done = 0, False
        self.score: float | None = None
        """Its return, once it is over and known."""

    @property
    def asks_state(self) -> bool:
        """Whether it is over and its score stands in the state of the environment."""
        return self._is_done and self.score is None

    def see(self, observation: Observation) -> None:
        """Take what `reset` or a step came to. Raises ServerFaultError naming what does not fit."""
        if not self.actions and observation.done:
            raise ServerFaultError("its reset: done is true before a first step")
        if self.actions:  # what `reset` shows was not earned
            self._n_steps += 1
            self._reward = float(observation.reward or 0.0)
            self._total += self._reward
            if not abs(self._total) <= MAX:
                raise ServerFaultError(f"its reward: {self._reward:g} makes {self._total:g} of all")
        self._is_done = observation.done
        # Shown until the end: the last observation may lack what an agent would need.
        if not observation.done:
            self._numbers = self._layout.read_numbers(_join_observation(observation))
        elif not self._layout.score:
            self.score = self._total
        elif not self._layout.score.startswith(f"{STATE}."):
            self.score = self._read_score(_join_observation(observation), self._layout.score)

    def see_state(self, state: Mapping[str, object]) -> None:
        """Take the score out of the state. Raises ServerFaultError where there is none."""
        self.score = self._read_score({STATE: state}, self._layout.score)

    def choose(self, action: int) -> dict[str, object] | None:
        """Choose for the next field; return the action that is to be sent, None before the last.

        Raises IllegalActionError and changes nothing.
        """
        if type(action) is not int or action not in self.legal():
            legal = f"0..{len(self.legal()) - 1}" if self.legal() else "nothing"
            raise IllegalActionError(f"{self._layout.name}: {action!r:.80} is not in {legal}")
        self.actions.append(action)
        self._chosen.append(action)
        if len(self._chosen) < len(self._names):
            return None
        chosen, self._chosen = self._chosen, []
        fields = zip(self._layout.fields.items(), chosen, strict=True)
        return {name: choices[choice] for (name, choices), choice in fields}

    def seat(self) -> int:
        """Return the one seat, or OVER."""
        return OVER if self._is_done else 0

    def legal(self) -> list[int]:
        """Return the choices for the next field; none when over."""
        return [] if self._is_done else list(range(len(self._list_choices())))

    def names(self) -> list[str]:
        """Return a field and a value for each choice."""
        field = self._names[len(self._chosen)]
        return [f"{field} {value}"[:100] for value in self._list_choices()]

    def observation(self) -> list[float]:
        """Return what is seen, what is chosen so far and which field is next."""
        if not self._layout.n_choices:
            return list(self._numbers)
        sizes = [max(len(choices) - 1, 1) for choices in self._layout.fields.values()]
        chosen, following = [0.0] * len(sizes), [0.0] * len(sizes)
        for field, choice in enumerate(self._chosen):
            chosen[field] = choice / sizes[field]
        following[len(self._chosen)] = 1.0
        return [*self._numbers, *chosen, *following]

    def text(self) -> str:
        """Return how far it is and what it earned."""
        steps = f"{self._n_steps} step{'s' if self._n_steps != 1 else ''}"
        if self._is_done:
            return f"The episode is over after {steps}: the score is {self.score:g}."
        earned = f" The last one earned {self._reward:g}, all {self._total:g}."
        return f"{steps} taken.{earned if self._n_steps else ''}"

    def _list_choices(self) -> Sequence[object]:
        return self._layout.fields[self._names[len(self._chosen)]]

    def _read_score(self, observation: Mapping[str, object], name: str) -> float:
        try:
            value = _find_value(observation, name)
        except LookupError as error:
            raise ServerFaultError(f"its score: {name} {error}") from error
        if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > MAX:
            raise ServerFaultError(f"its score: {name} must be a finite number, is {value!r:.100}")
        return float(value)


def _join_observation(observation: Observation) -> Mapping[str, object]:
    """Return an observation as its class has it; on the wire three fields stand beside it."""
    beside: dict[str, object] = {"reward": observation.reward, "done": observation.done}
    if observation.metadata:
        beside["metadata"] = observation.metadata
    return {**observation.observation, **beside}


def _find_value(observation: Mapping[str, object], name: str) -> object:
    """Return the value of a dotted name. Raises LookupError saying what there is."""
    value: object = observation
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            present = sorted(map(str, value)) if isinstance(value, Mapping) else value
            raise LookupError(f"is missing; there is {present!r:.300}")
        value = value[part]
    return value
