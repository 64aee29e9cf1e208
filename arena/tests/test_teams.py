"""The teams of a game."""

import pytest

from arena import teams
from arena.errors import InvalidReturnsError, UnsupportedGameError
from arena.games import registry
from arena.games.base import forfeit_ranks, ranks

BRIDGE = (0, 1, 0, 1)
THREE = (0, 1, 2, 2, 1, 0)


@pytest.mark.parametrize(
    ("wrong", "n_seats"),
    [
        ((0, 1, 0), 4),
        ((0, 0, 0, 0), 4),
        ((0, 1), 2),
        ((0, 1, 0, 0), 4),
        ((1, 2, 1, 2), 4),
        ((0, 2, 0, 2), 4),
    ],
)
def test_teams_that_are_not_alike_are_refused(wrong: tuple[int, ...], n_seats: int) -> None:
    with pytest.raises(UnsupportedGameError, match=r"bridge: teams must be .* got \("):
        teams.check_teams("bridge", wrong, n_seats)


def test_no_teams_and_teams_alike_are_sound() -> None:
    teams.check_teams("chess", (), 2)
    teams.check_teams("bridge", BRIDGE, 4)
    teams.check_teams("six", THREE, 6)


@pytest.mark.parametrize(
    ("of", "n_seats", "n_teams", "size", "n_opposed"),
    [((), 2, 2, 1, 1), ((), 3, 3, 1, 3), (BRIDGE, 4, 2, 2, 4), (THREE, 6, 3, 2, 12)],
)
def test_sides_are_counted(
    of: tuple[int, ...], n_seats: int, n_teams: int, size: int, n_opposed: int
) -> None:
    assert teams.n_teams(of, n_seats) == n_teams
    assert teams.team_size(of) == size
    assert teams.n_opposed(of, n_seats) == n_opposed


def test_only_mates_are_mates() -> None:
    assert teams.are_mates(BRIDGE, 1, 3)
    assert not teams.are_mates(BRIDGE, 0, 3)
    assert not teams.are_mates((), 0, 0)


def test_what_belongs_to_the_seats_is_grouped_by_team() -> None:
    assert teams.group_by_team(THREE, "abcdef") == [("a", "f"), ("b", "e"), ("c", "d")]


def test_a_spec_knows_its_sides() -> None:
    spec = registry.get("tiny_bridge").spec
    assert (spec.teams, spec.team_size, spec.n_sides, spec.n_opposed) == (BRIDGE, 2, 2, 4)
    alone = registry.get("kuhn_poker_3").spec
    assert (alone.teams, alone.team_size, alone.n_sides, alone.n_opposed) == ((), 1, 3, 3)


def test_team_mates_share_their_rank() -> None:
    assert ranks([1.0, -1.0, 1.0, -1.0], 4, BRIDGE) == [0, 2, 0, 2]
    assert ranks([0.0] * 4, 4, BRIDGE) == [0, 0, 0, 0]


def test_a_game_that_gives_team_mates_different_returns_is_at_fault() -> None:
    with pytest.raises(InvalidReturnsError, match=r"those of team 1 have \(-1.0, -2.0\)"):
        ranks([1.0, -1.0, 1.0, -2.0], 4, BRIDGE)


def test_who_forfeits_is_last_with_its_team() -> None:
    assert forfeit_ranks(1, 4, BRIDGE) == [0, 2, 0, 2]
    assert forfeit_ranks(2, 6, THREE) == [0, 0, 4, 4, 0, 0]
