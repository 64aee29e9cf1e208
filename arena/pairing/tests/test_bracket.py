"""The bracket: seeds, byes, best of k, ties, and what it still needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.conformance.standings import standing, won
from arena.pairing.base import Field, Meeting, PairingError
from arena.pairing.bracket import BracketSlot, KnockoutRules, build_bracket, open_slots
from arena.pairing.catalog.knockout import PAIRING

ONE = KnockoutRules(best_of=1, n_tie_breaks=1)


def test_the_best_seeds_are_far_apart_and_have_the_byes() -> None:
    first, *_ = build_bracket([7, 8, 9, 5, 6], [], ONE).rounds
    assert [(slot.first, slot.second, slot.is_bye) for slot in first] == [
        (7, None, True),
        (5, 6, False),
        (8, None, True),
        (9, None, True),
    ]


@given(st.integers(2, 40), st.integers(1, 4), st.permutations(range(40)))
def test_the_best_wins_when_the_better_always_does(n: int, best_of: int, order: list[int]) -> None:
    seeding = [agent for agent in order if agent < n]
    pairing = PAIRING.configured({"best_of": best_of})
    meetings: list[Meeting] = []
    for turn in range(99):
        here = standing(Field(n, 2), meetings=meetings, seeding=seeding)
        chosen = pairing.choose(here, 999, seed=turn)
        if not chosen:
            break
        meetings += [won(min(pair), max(pair)) for pair in chosen]
    assert pairing.is_over(here)
    assert pairing.bracket(here).winner == 0
    final = pairing.bracket(here).rounds[-1][0]
    assert (n - 1) * (best_of // 2 + 1) == len(meetings)
    assert final.points[0] + final.points[1] == 2 * final.n_closed


def test_a_knockout_is_played_in_blocks_from_least_to_most() -> None:
    # Seven lose: each in two blocks of three at least.
    pairing = PAIRING.configured({"best_of": 3})
    assert pairing.least_blocks(Field(8, 2)) == 14
    assert pairing.most_blocks(Field(8, 2)) == 21


def test_a_slot_is_decided_as_soon_as_it_cannot_turn() -> None:
    rules = KnockoutRules(best_of=3, n_tie_breaks=0)
    slot = build_bracket([0, 1], [won(0, 1)], rules).rounds[0][0]
    assert (slot.points, slot.winner, rules.n_needed(slot)) == ((2.0, 0.0), None, 1)
    slot = build_bracket([0, 1], [won(0, 1), won(1, 0, 0.5)], rules).rounds[0][0]
    assert (slot.points, slot.winner) == ((3.5, 0.5), 0)
    assert rules.n_needed(slot) == 0


def test_level_agents_play_on_and_then_the_better_seed_goes_on() -> None:
    rules = KnockoutRules(best_of=1, n_tie_breaks=1)
    level = won(1, 0, 1.0)
    slot = build_bracket([0, 1], [level], rules).rounds[0][0]
    assert (slot.winner, rules.n_needed(slot)) == (None, 1)
    assert build_bracket([0, 1], [level, level], rules).winner == 0
    assert build_bracket([1, 0], [level, level], rules).winner == 1
    assert build_bracket([0, 1], [level, won(1, 0, 1.5)], rules).winner == 1


def test_an_open_block_is_waited_for() -> None:
    meetings = [won(0, 1, 1.0), Meeting((0, 1), 0, None)]
    made = build_bracket([0, 1], meetings, ONE)
    (slot,) = open_slots(made)
    assert (slot.n_open, ONE.n_needed(slot), made.winner) == (1, 0, None)


def test_slots_go_on_without_waiting_for_each_other() -> None:
    here = standing(Field(8, 2), meetings=[won(0, 7), won(3, 4)])
    pairing = PAIRING.configured({"best_of": 1})
    chosen = {frozenset(pair) for pair in pairing.choose(here, 99, seed=0)}
    assert chosen == {frozenset(pair) for pair in [(0, 3), (1, 6), (2, 5)]}
    assert len(pairing.choose(here, 2, seed=0)) == 2


@pytest.mark.parametrize(("best_of", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (9, 5)])
def test_no_more_blocks_are_planned_than_could_decide(best_of: int, needed: int) -> None:
    assert KnockoutRules(best_of, 0).n_needed(BracketSlot(0, 1)) == needed


def test_one_agent_makes_no_bracket() -> None:
    with pytest.raises(PairingError, match="2 or more agents, got 1"):
        build_bracket([0], [], ONE)
