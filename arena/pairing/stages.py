"""Stages of groups: how large each group is, and which blocks were played in which of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TypeVar

from arena.pairing.base import Field, Meeting

Item = TypeVar("Item")


@dataclass(frozen=True)
class GroupRules:
    """Agents of a group at least, rounds in it, stages before the finals, agents of the final."""

    group_size: int
    rounds: int
    stages: int
    finalists: int

    def list_sizes(self, field: Field) -> list[list[int]]:
        """Return the sizes of the groups of each stage, best first; the last one is the final."""
        n = field.n_agents
        least = max(self.group_size, field.n_seats)
        n_groups = max(1, n // least)
        groups = [n // n_groups + (place < n % n_groups) for place in range(n_groups)]
        n_final = min(max(self.finalists, field.n_seats), n)
        semifinals = [[n_final, n_final]] if 2 * n_final < n else []
        return [groups] * self.stages + semifinals + [[n_final]]

    def count_lineups(self, size: int, n_seats: int) -> int:
        """Return how many blocks a group of that size plays."""
        return self.rounds * (size // n_seats)


@dataclass(frozen=True)
class Group:
    """A group and its blocks so far; n_blocks: how many it has in all."""

    title: str
    n_blocks: int
    meetings: tuple[Meeting, ...]

    @property
    def is_over(self) -> bool:
        """True when all of its blocks are planned and closed."""
        is_closed = all(meeting.points is not None for meeting in self.meetings)
        return is_closed and len(self.meetings) >= self.n_blocks


@dataclass(frozen=True)
class Stage:
    """The groups that are played at the same time; is_knockout: not all agents reach it."""

    title: str
    groups: tuple[Group, ...]
    is_knockout: bool = False

    @property
    def members(self) -> set[int]:
        """The positions of the agents that play in it, as far as blocks are planned."""
        meetings = (meeting for group in self.groups for meeting in group.meetings)
        return {position for meeting in meetings for position in meeting.lineup}


def split_stages(field: Field, meetings: Sequence[Meeting], rules: GroupRules) -> list[Stage]:
    """Return all stages with the blocks of each group, those to come without any.

    A stage that was cut short and went on in other groups is one group.
    """
    stages, start = list[Stage](), 0
    sizes_by_stage = rules.list_sizes(field)
    for number, sizes in enumerate(sizes_by_stage):
        n_lineups = [rules.count_lineups(size, field.n_seats) for size in sizes]
        played = meetings[start : start + sum(n_lineups)]
        start += sum(n_lineups)
        is_final = number == len(sizes_by_stage) - 1
        is_semifinal = number >= rules.stages and not is_final
        title = "Final" if is_final else "Semi-finals" if is_semifinal else f"Stage {number + 1}"
        group_name = "Final" if is_final else "Semi-final" if is_semifinal else "Group"
        groups = _split_groups(group_name, n_lineups, played)
        stages.append(Stage(title, groups, is_knockout=is_final or is_semifinal))
    return stages


def _split_groups(
    title: str, n_lineups: Sequence[int], played: Sequence[Meeting]
) -> tuple[Group, ...]:
    # The blocks of a stage are planned a block of each group in turn.
    turns = take_in_turn([[group] * n for group, n in enumerate(n_lineups)])
    by_group: list[list[Meeting]] = [[] for _ in n_lineups]
    group_of: dict[int, int] = {}
    is_mixed = False
    for group, meeting in zip(turns, played, strict=False):
        by_group[group].append(meeting)
        is_mixed |= any(group_of.setdefault(agent, group) != group for agent in meeting.lineup)
    if is_mixed:
        return (Group("All groups", sum(n_lineups), tuple(played)),)
    is_alone = len(n_lineups) == 1
    return tuple(
        Group(title if is_alone else f"{title} {place + 1}", n, tuple(by_group[place]))
        for place, n in enumerate(n_lineups)
    )


def take_in_turn(lists: Sequence[Sequence[Item]]) -> list[Item]:
    """Return the first of each list, then the second of each, and so on."""
    missing = object()
    in_turn = chain.from_iterable(zip_longest(*lists, fillvalue=missing))
    return [item for item in in_turn if item is not missing]  # type: ignore[misc]
