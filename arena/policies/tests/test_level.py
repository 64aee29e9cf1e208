"""The level policy: the same level always, and the ladder of levels that it gives."""

import pytest

from arena.errors import ParameterError
from arena.games import registry as games
from arena.policies.tests.positions import build, row_after, score

SKILL = games.get("skill_game")


def test_it_plays_its_level_in_every_row() -> None:
    rows = [row_after(SKILL, [], seed) for seed in range(3)]
    assert list(build("level:73", SKILL).act(rows)) == [73, 73, 73]


@pytest.mark.parametrize("level", ["-1", "100", "1.5", "high"])
def test_a_level_out_of_range_is_refused(level: str) -> None:
    with pytest.raises(ParameterError, match="level: parameter 'level' must be"):
        build(f"level:{level}", SKILL)


def test_the_better_level_wins_more_often() -> None:
    assert score("skill_game", "level:60", "level:50", n_blocks=200) > 0.75
    assert score("skill_game", "level:50", "level:49", n_blocks=200) > 0.6
    assert score("skill_game", "level:80", "level:50", n_blocks=50) == 1.0
