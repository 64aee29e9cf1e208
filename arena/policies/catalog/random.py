"""Plays any legal action, each as likely as the others."""

from collections.abc import Mapping, Sequence

from arena.games.base import Game, GameSpec
from arena.parameters import Parameter
from arena.policies.base import Row, accepted


class RandomPolicy:
    """Uniform over the legal actions."""

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return a legal action per row, by the row's own seed."""
        return [row.pick(row.state.legal_actions()) for row in rows]


class RandomKind:
    """Plays every game."""

    id = "random"
    title = "Random"
    version = 1
    is_batched = False  # lockstep would gain nothing and put more matches at risk of a kill
    parameters: tuple[Parameter, ...] = ()

    def refusal(self, spec: GameSpec) -> str | None:
        """Return None, whatever the game."""
        del spec  # legal actions are all that this kind needs, and every game has them
        return None

    def build(self, game: Game, parameters: Mapping[str, object]) -> RandomPolicy:
        """Return the policy. Raises ParameterError for any parameter."""
        accepted(self, game, parameters)
        return RandomPolicy()


POLICY = RandomKind()
