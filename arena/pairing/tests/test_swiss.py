"""Swiss: whole rounds, points, byes, and nobody twice while that can be avoided."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.conformance.standings import standing, won
from arena.pairing.base import Field, Lineup, Meeting, Standing
from arena.pairing.catalog.swiss import PAIRING
from arena.pairing.rematches import pair_without_rematches


def pairs(lineups: list[Lineup]) -> set[frozenset[int]]:
    return {frozenset(lineup) for lineup in lineups}


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 17), st.randoms(use_true_random=False))
def test_a_tournament_has_whole_rounds_without_rematches(n_agents: int, chance: object) -> None:
    n_rounds, meetings = (n_agents - 1).bit_length(), list[Meeting]()
    byes = Counter[int]()
    for _ in range(n_rounds):
        here = standing(Field(n_agents, 2), meetings=meetings)
        assert not PAIRING.is_over(here)
        chosen = PAIRING.choose(here, 99, seed=1)
        playing = {agent for lineup in chosen for agent in lineup}
        assert len(chosen) == n_agents // 2
        assert len(playing) == 2 * len(chosen)
        byes.update(set(range(n_agents)) - playing)
        points = [chance.choice((0.0, 0.5, 1.0, 2.0)) for _ in chosen]  # type: ignore[attr-defined]
        meetings += [won(i, j, p) for (i, j), p in zip(chosen, points, strict=True)]
    end = standing(Field(n_agents, 2), meetings=meetings)
    assert PAIRING.is_over(end)
    assert PAIRING.choose(end, 99, seed=1) == []
    assert len(pairs([meeting.lineup for meeting in meetings])) == len(meetings)
    assert max(byes.values(), default=0) <= 1


def after(meetings: list[Meeting], n_agents: int = 4) -> Standing:
    return standing(Field(n_agents, 2), meetings=meetings)


def test_those_with_the_same_points_meet() -> None:
    first = [won(0, 1), won(2, 3)]
    assert pairs(PAIRING.choose(after(first), 9, seed=1)) == pairs([(0, 2), (1, 3)])


def test_it_waits_for_the_round_before() -> None:
    is_open = [won(0, 1), Meeting((2, 3), 0, None)]
    assert PAIRING.choose(after(is_open), 9, seed=1) == []


def test_a_round_that_was_cut_short_goes_on() -> None:
    here = after([won(0, 1), won(2, 3), Meeting((0, 2), 1, None)])
    assert pairs(PAIRING.choose(here, 9, seed=1)) == pairs([(1, 3)])


def test_the_last_without_a_bye_has_it_and_wins() -> None:
    here = after([won(0, 1)], 3)
    assert pairs(PAIRING.choose(here, 9, seed=1)) == pairs([(0, 2)])
    third = PAIRING.configured({"rounds": 3})
    assert pairs(third.choose(after([won(0, 1), won(2, 0)], 3), 9, seed=1)) == pairs([(1, 2)])


def test_rematches_come_when_there_is_no_other_way() -> None:
    pairing = PAIRING.configured({"rounds": 3})
    here = after([won(0, 1), won(0, 1)], 2)
    assert pairs(pairing.choose(here, 9, seed=1)) == pairs([(0, 1)])


@settings(deadline=None)
@given(st.sampled_from([2, 4, 6]), st.data())
def test_a_rematch_is_made_only_if_every_way_has_one(n: int, data: st.DataObject) -> None:
    all_pairs = list(combinations(range(n), 2))
    met: dict[Lineup, int] = {pair: data.draw(st.integers(0, 2)) for pair in all_pairs}
    round_pairs = pair_without_rematches(range(n), met, [])
    assert sorted(agent for pair in round_pairs for agent in pair) == list(range(n))
    least = min(max(met[pair] for pair in way) for way in ways(list(range(n))))
    assert max(met[min(pair), max(pair)] for pair in round_pairs) == least


def ways(agents: list[int]) -> list[list[Lineup]]:
    if not agents:
        return [[]]
    first, rest = agents[0], agents[1:]
    return [
        [(first, other), *way]
        for other in rest
        for way in ways([agent for agent in rest if agent != other])
    ]


def test_a_search_without_end_allows_rematches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.pairing.rematches._MAX_TURNS", 4)
    met: dict[Lineup, int] = {(2, 3): 1}
    assert pair_without_rematches(range(4), met, []) == [(0, 1), (2, 3)]
