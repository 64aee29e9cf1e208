"""Plays its level in the skill game: the agent whose true skill is known."""

from collections.abc import Mapping, Sequence

from arena.games.base import Game, GameSpec
from arena.games.catalog import dice_walk, skill_game, skill_teams
from arena.parameters import Parameter
from arena.policies.base import Row, accepted

_LEVEL = Parameter("level", 50, "the true skill", 0, skill_game.RATING_RANGE - 1)


class LevelPolicy:
    """Always the same level."""

    __slots__ = ("_level",)

    def __init__(self, level: int) -> None:
        """Keep the level to play."""
        self._level = level

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return the level once per row."""
        return [self._level] * len(rows)


class LevelKind:
    """Plays the skill games only."""

    id = "level"
    title = "Level of the skill game"
    version = 1
    is_batched = False  # lockstep would gain nothing and put more matches at risk of a kill
    parameters = (_LEVEL,)

    def refusal(self, spec: GameSpec) -> str | None:
        """Return why not, for any game but the skill games."""
        games = skill_game.ID, skill_teams.ID, dice_walk.ID
        return None if spec.id in games else "only {!r}, {!r} and {!r} have levels".format(*games)

    def build(self, game: Game, parameters: Mapping[str, object]) -> LevelPolicy:
        """Return the policy of that level. Raises ParameterError or UnsupportedGameError."""
        return LevelPolicy(int(accepted(self, game, parameters)[_LEVEL.name]))


POLICY = LevelKind()
