"""Groups: partitions, made anew by rating, then semi-finals and a final of the best."""

import numpy as np
import pytest

from arena.conformance.standings import standing, won
from arena.pairing.base import Field, Lineup, Meeting
from arena.pairing.catalog.groups import PAIRING
from arena.pairing.stages import GroupRules, split_stages

SMALL = PAIRING.configured({"group_size": 4, "rounds": 3, "stages": 2, "finalists": 3})


def groups(lineups: list[Lineup]) -> set[frozenset[int]]:
    """Return the sets of agents that are connected by their matches."""
    components: list[set[int]] = []
    for lineup in lineups:
        apart = [group for group in components if group.isdisjoint(lineup)]
        joined = set(lineup).union(*(group for group in components if not group.isdisjoint(lineup)))
        components = [*apart, joined]
    return {frozenset(group) for group in components}


def played(n_agents: int) -> tuple[list[list[Lineup]], bool]:
    """Return the stages of a tournament that the lower index always wins, and whether it ended."""
    meetings: list[Meeting] = []
    stages: list[list[Lineup]] = []
    results: list[tuple[int, int, int]] = []
    for turn in range(20):
        here = standing(Field(n_agents, 2), np.array(results).reshape(-1, 3), meetings)
        chosen = SMALL.choose(here, 999, seed=turn)
        if not chosen:
            return stages, SMALL.is_over(here)
        stages.append(chosen)
        meetings += [won(min(pair), max(pair)) for pair in chosen]
        results += [(min(pair), max(pair), 1) for pair in chosen] * 4
    raise AssertionError("it never ended")


def test_the_stages_are_groups_semifinals_and_a_final() -> None:
    stages, is_over = played(13)
    assert is_over
    sizes = [sorted(len(group) for group in groups(stage)) for stage in stages]
    assert sizes == [[4, 4, 5], [4, 4, 5], [3, 3], [3]]
    assert [len(stage) for stage in stages] == [18, 18, 6, 3]
    assert groups(stages[0]) != groups(stages[1])
    assert groups(stages[3]) == {frozenset({0, 1, 2})}


def test_a_small_field_has_no_semifinals() -> None:
    stages, is_over = played(5)
    assert is_over
    assert [len(group) for stage in stages for group in groups(stage)] == [5, 5, 3]


def test_it_waits_for_the_stage_and_goes_on_when_cut_short() -> None:
    first = SMALL.choose(standing(Field(8, 2)), 5, seed=1)
    assert len(groups(first)) > 1
    flying = [Meeting(pair, 0, None) for pair in first]
    assert SMALL.choose(standing(Field(8, 2), meetings=flying), 99, seed=1) == []
    closed = [won(*pair) for pair in first]
    assert len(SMALL.choose(standing(Field(8, 2), meetings=closed), 99, seed=1)) == 12 - 5


@pytest.mark.parametrize("n_seats", [3, 5])
def test_more_seats_than_a_group_make_larger_groups(n_seats: int) -> None:
    pairing = PAIRING.configured({"group_size": 2, "finalists": 2})
    lineups = pairing.choose(standing(Field(11, n_seats)), 99, seed=1)
    assert all(len(group) >= n_seats for group in groups(lineups))


def test_a_stage_tells_who_plays_in_it_and_which_groups_are_over() -> None:
    rules = GroupRules(group_size=2, rounds=1, stages=1, finalists=2)
    open_meeting = Meeting((2, 3), 0, None)
    first, *_ = split_stages(Field(4, 2), [won(0, 1), open_meeting], rules)
    assert first.members == {0, 1, 2, 3}
    assert [group.is_over for group in first.groups] == [True, False]
    (to_come,) = split_stages(Field(2, 2), [], rules)[0].groups
    assert not to_come.is_over


def test_a_stage_that_went_on_in_other_groups_is_shown_as_one() -> None:
    rules = GroupRules(group_size=4, rounds=3, stages=2, finalists=3)
    meetings = [won(0, 1), won(0, 2)]  # blocks go to the groups in turn
    first = split_stages(Field(8, 2), meetings, rules)[0]
    assert [group.title for group in first.groups] == ["All groups"]
    assert first.groups[0].meetings == tuple(meetings)
