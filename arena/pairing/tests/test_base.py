"""Fields, blocks and their rotations."""

from collections import Counter
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import UnknownNameError
from arena.pairing import registry
from arena.pairing.base import (
    Field,
    PairingError,
    count_blocks,
    draw_lineups,
    draw_partners,
    rotate_seats,
)
from arena.ratings.rankings import pair_weight
from arena.teams import group_by_team


def test_a_block_puts_every_agent_once_in_every_seat() -> None:
    assert rotate_seats((4, 7)) == [(4, 7), (7, 4)]
    assert rotate_seats((1, 2, 3)) == [(1, 2, 3), (2, 3, 1), (3, 1, 2)]


@given(st.integers(0, 10**9), st.integers(1, 9))
def test_the_blocks_hold_the_matches_and_no_block_is_idle(n_matches: int, n_seats: int) -> None:
    n_blocks = count_blocks(n_matches, n_seats)
    assert 0 <= n_blocks * n_seats - n_matches < n_seats


@pytest.mark.parametrize(
    ("n_agents", "n_seats", "words"),
    [
        (1, 1, r"n_agents must be 2 or more for 1 seats, got 1"),
        (0, 2, r"n_agents must be 2 or more for 2 seats, got 0"),
        (1, 2, r"n_agents must be 2 or more for 2 seats, got 1"),
        (2, 3, r"n_agents must be 3 or more for 3 seats, got 2"),
        (5, 0, r"n_seats must be 1 or more, got 0"),
    ],
)
def test_a_field_that_cannot_fill_the_seats_is_refused(
    n_agents: int, n_seats: int, words: str
) -> None:
    with pytest.raises(PairingError, match=words):
        Field(n_agents, n_seats)


@pytest.mark.parametrize(("n_matches", "n_seats"), [(-1, 2), (4, 0)])
def test_a_negative_number_of_matches_is_refused(n_matches: int, n_seats: int) -> None:
    with pytest.raises(PairingError, match=r"must be . or more, got"):
        count_blocks(n_matches, n_seats)


def test_an_unknown_pairing_is_refused_with_the_choices() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown pairing 'swiss'.*double_round_robin"):
        registry.get("swiss")


def test_the_sides_of_a_block_change_their_seats_and_stay_the_same() -> None:
    teams = (0, 1, 0, 1)
    sides = [
        {frozenset(side) for side in group_by_team(teams, seats)}
        for seats in rotate_seats((1, 2, 3, 4))
    ]
    assert sides == [{frozenset({1, 3}), frozenset({2, 4})}] * 4


def test_each_of_a_lineup_is_equally_often_the_partner() -> None:
    drawn = [draw_partners((5, 6, 7, 8), seed) for seed in range(3_000)]
    assert draw_partners((5, 6, 7, 8), 1) == drawn[1]
    partners = Counter(lineup[(lineup.index(5) + 2) % 4] for lineup in drawn)
    assert all(n == pytest.approx(1_000, abs=100) for n in partners.values())


@pytest.mark.parametrize(("n_seats", "size"), [(2, 1), (3, 1), (4, 2), (6, 2), (6, 3)])
def test_a_pair_weighs_as_a_match_does_with_partners_at_random(n_seats: int, size: int) -> None:
    """The information of a match, over all ways to sit, is that of a graph of this weight."""
    n_teams = n_seats // size
    total = np.zeros((n_seats, n_seats))
    orders = list(permutations(range(n_seats)))
    for order in orders:
        sides = [order[at : at + size] for at in range(0, n_seats, size)]
        for place, one in enumerate(sides):
            for other in sides[place + 1 :]:
                pull = np.zeros(n_seats)
                pull[list(one)], pull[list(other)] = 1, -1
                total += pair_weight(n_teams) * np.outer(pull, pull) / size
    field = Field(n_seats, n_seats, size)
    assert field.n_sides == n_teams
    expected = field.pair_weight * (n_seats * np.eye(n_seats) - 1)
    assert total / len(orders) == pytest.approx(expected, abs=1e-9)


def fail_to_draw() -> list[tuple[int, ...]]:
    raise RuntimeError("no table is free")


@pytest.mark.parametrize(
    ("draw", "why"),
    [
        (fail_to_draw, "'mine' raises RuntimeError: no table is free"),
        (lambda: None, "'mine' raises TypeError"),
        (lambda: [(0, 0.5)], "'mine' raises TypeError"),
        (lambda: [(0, 1), (2, 2)], r"has the lineup \(2, 2\): must be 2 distinct agents of 0..2"),
        (lambda: [(0, 3)], r"has the lineup \(0, 3\)"),
        (lambda: [(0, 1, 2)], r"has the lineup \(0, 1, 2\)"),
    ],
)
def test_a_pairing_that_draws_no_lineups_is_named(
    draw: Callable[[], list[tuple[int, ...]]], why: str
) -> None:
    with pytest.raises(PairingError, match=why):
        draw_lineups("mine", Field(3, 2), draw)


def test_what_a_pairing_refuses_itself_is_its_own_reason() -> None:
    def refuse() -> list[tuple[int, ...]]:
        raise PairingError("too few tables")

    with pytest.raises(PairingError, match="too few tables"):
        draw_lineups("mine", Field(3, 2), refuse)
    drawn = draw_lineups("mine", Field(3, 2), lambda: np.array([[0, 1], [2, 1]]))
    assert drawn == [(0, 1), (2, 1)]
    assert all(type(agent) is int for lineup in drawn for agent in lineup)
