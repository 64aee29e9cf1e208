"""An environment of OpenEnv as a game: what a catalog file of about ten lines needs."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Final

from arena.errors import UnsupportedGameError
from arena.games.base import SERVER, GameSpec
from arena.games.openenv.episode import Layout
from arena.games.openenv.numbers import Reader, make_reader
from arena.games.served import ServedGame
from arena.needs import CPU
from arena.parameters import Parameter, Value

SEED: Final = "seed"
MAX_SEED_BITS: Final = 63

Fields = Mapping[str, Sequence[object]]


class OpenEnvGame(ServedGame):
    """A game of one seat whose servers speak OpenEnv: reset, step, state."""

    def __init__(  # noqa: PLR0913 - what the environment does not tell
        self,
        name: str,
        *,
        title: str,
        action: Fields,
        observation: Mapping[str, object],
        max_steps: int,
        score: str = "",
        reset: Mapping[str, Value] | None = None,
        seed_bits: int = 31,
        is_replayable: bool = False,
        score_range: tuple[float, float] | None = None,
        score_margin: float = 0.0,
        rules_version: int = 1,
        capability: str = CPU,
    ) -> None:
        """Lay actions and observations out. Raises UnsupportedGameError naming what is wrong.

        action: the values to choose among, by field; each field is a decision of its own.
        observation: by field, dotted where it lies within others, what arena.games.openenv.numbers
        makes of it. max_steps: of the environment. score: the field of the last observation that
        is the return, such as metadata.score, or state.score; without one the sum of the rewards.
        reset: what `reset` is given beside the seed; each is a parameter of the game.
        is_replayable: seed and actions give the same episode again on every server.
        """
        fields, readers = _read_fields(name, action), _read_readers(name, observation)
        self.layout = Layout(name, fields, readers, score)
        self.seed_bits = seed_bits
        if not 1 <= seed_bits <= MAX_SEED_BITS:
            raise UnsupportedGameError(
                f"{name}: seed_bits must be 1..{MAX_SEED_BITS}, is {seed_bits!r}"
            )
        if SEED in (reset or {}):
            raise UnsupportedGameError(f"{name}: reset has {SEED!r}, which is that of the match")
        spec = GameSpec(
            id=name,
            title=title,
            n_seats=1,
            n_actions=self.layout.n_actions,
            observation_shape=(self.layout.size,),
            observation_dtype="float32",
            observation_parts=self.layout.list_parts(),
            has_chance=True,
            has_hidden_information=False,
            opening_plies=0,
            max_steps=max_steps * len(self.layout.fields),
            rules_version=rules_version,
            parameters=tuple(
                Parameter(field, value, "What reset of the environment is given.")
                for field, value in (reset or {}).items()
            ),
            is_replayable=is_replayable,
            score_range=score_range,
            score_margin=score_margin,
            capability=capability,
            served=SERVER,
        )
        super().__init__(spec)

    def configured(self, parameters: Mapping[str, object]) -> "OpenEnvGame":
        """Return the same game, reset with other values. Raises ParameterError."""
        other = copy(self)
        other._parameters = dict(super().configured(parameters).parameters)
        return other

    def make_reset(self, game_seed: int, parameters: Mapping[str, Value]) -> dict[str, Any]:
        """Return what `reset` is given."""
        return {**parameters, SEED: game_seed & ((1 << self.seed_bits) - 1)}


def _read_fields(name: str, action: Fields) -> Fields:
    fields = {field: tuple(values) for field, values in action.items()}
    if not fields or not all(fields.values()):
        empty = [field for field, values in fields.items() if not values]
        raise UnsupportedGameError(
            f"{name}: action must name fields with a value or more each, "
            f"{'has none' if not fields else f'{empty} have none'}"
        )
    return fields


def _read_readers(name: str, observation: Mapping[str, object]) -> dict[str, Reader]:
    if not observation:
        raise UnsupportedGameError(f"{name}: observation must name a field or more, has none")
    readers: dict[str, Reader] = {}
    for field, form in observation.items():
        try:
            readers[field] = make_reader(form)
        except ValueError as error:
            raise UnsupportedGameError(f"{name}: observation: {field} {error}") from error
    return readers
