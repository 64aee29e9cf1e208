"""Kinds of policies without parameters that decide each row by itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from arena.games.base import Game, GameSpec
from arena.parameters import Parameter
from arena.policies.base import Row, accepted

Choose = Callable[[Row], int]


class RowPolicy:
    """Asks the same function for every row."""

    def __init__(self, choose: Choose) -> None:
        """choose: returns a legal action of the row."""
        self._choose = choose

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return an action per row."""
        return [self._choose(row) for row in rows]


@dataclass(frozen=True)
class RowKind:
    """A kind of policy; refuse: why it cannot play a game, or None."""

    id: str
    title: str
    choose: Choose
    refuse: Callable[[GameSpec], str | None]
    version: int = 1
    # Lockstep would gain nothing and put more matches at risk of a kill.
    is_batched: bool = False
    parameters: tuple[Parameter, ...] = ()

    def refusal(self, spec: GameSpec) -> str | None:
        """Return why the game cannot be played, or None."""
        return self.refuse(spec)

    def build(self, game: Game, parameters: Mapping[str, object]) -> RowPolicy:
        """Return the policy. Raises ParameterError for any parameter, UnsupportedGameError."""
        accepted(self, game, parameters)
        return RowPolicy(self.choose)
