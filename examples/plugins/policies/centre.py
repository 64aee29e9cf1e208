"""Plays the legal action in the middle: not good, but the same every time and in every game."""

from collections.abc import Mapping, Sequence

from arena.games.base import Game, GameSpec
from arena.parameters import Parameter
from arena.policies.base import Row, accepted


class CentrePolicy:
    """The legal action in the middle."""

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return one action per row."""
        legal = [row.state.legal_actions() for row in rows]
        return [actions[len(actions) // 2] for actions in legal]


class CentreKind:
    """Plays every game."""

    id = "centre"  # the name of this file
    title = "Centre"
    is_batched = False
    parameters: tuple[Parameter, ...] = ()

    def refusal(self, spec: GameSpec) -> str | None:
        """Return None, whatever the game."""
        del spec
        return None

    def build(self, game: Game, parameters: Mapping[str, object]) -> CentrePolicy:
        """Return the policy. Raises ParameterError."""
        accepted(self, game, parameters)
        return CentrePolicy()


POLICY = CentreKind()
