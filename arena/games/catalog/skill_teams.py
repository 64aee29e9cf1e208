"""The test game of hidden levels for two against two: the levels of team mates are summed.

The side with the higher sum wins, unless the coin of the skill game turns; see there.
"""

from dataclasses import replace

from arena.games.catalog.skill_game import GAME as SINGLE
from arena.games.catalog.skill_game import RATING_RANGE, SkillGame, SkillState, toss_result
from arena.games.observations import parts
from arena.teams import group_by_team

ID = "skill_teams"
TEAMS = (0, 1, 0, 1)
_SIZE = 2
_SPEC = replace(
    SINGLE.spec,
    id=ID,
    title="Skill game for teams (test)",
    n_seats=len(TEAMS),
    observation_parts=parts(("the seat, one-hot", len(TEAMS))),
    observation_shape=(len(TEAMS),),
    max_steps=len(TEAMS),
    teams=TEAMS,
)


class TeamState(SkillState):
    """One episode: at most four levels, in the order of the seats."""

    __slots__ = ()
    n_seats = len(TEAMS)

    def returns(self) -> tuple[float, ...]:
        """Return 1.0 for both winners and -1.0 for the others, or 0.0 for all of them."""
        if len(self.actions) < self.n_seats:
            return (0.0,) * self.n_seats
        first, second = map(sum, group_by_team(TEAMS, self.actions))
        won = toss_result(self._game_seed, first, second, levels=_SIZE * RATING_RANGE)
        return tuple(won[team] for team in TEAMS)


class TeamGame(SkillGame):
    """The rules; `sleep` lets the time of a match pass."""

    __slots__ = ()
    _spec, _state = _SPEC, TeamState


GAME = TeamGame()
