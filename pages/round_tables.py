"""Tables of points of tournaments in rounds: Swiss, and the groups and finals of group play."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from arena.pairing.base import Field, Meeting
from arena.pairing.stages import Group, GroupRules, Stage, split_stages
from pages.contenders import Contender, read_contenders

MOST_RANKED = 100
# Groups of a stage that are shown.
MOST_GROUPS = 16
# The points of a block that is won: the pairing counts a bye so, and the table must agree with it.
_BYE = 2.0


class RankedAgent(NamedTuple):
    """An agent of a table of points; rank None where nothing places it; reached: its last round."""

    rank: int | None
    agent: Contender
    points: str = ""
    n_blocks: int = 0
    n_byes: int = 0
    reached: str = ""


class GroupTable(NamedTuple):
    """The points of a group; n_open: blocks that are to be played."""

    title: str
    rows: list[RankedAgent]
    n_open: int


class StageTables(NamedTuple):
    """A stage and its first groups."""

    title: str
    groups: list[GroupTable]
    n_groups: int


class Scores(NamedTuple):
    """Points, blocks and byes by position."""

    points: dict[int, float]
    n_blocks: Counter[int]
    n_byes: Counter[int]


def rank_by_points(
    agents: Sequence[int], meetings: Sequence[Meeting], *, has_byes: bool
) -> list[RankedAgent]:
    """Return who has how many points, the most first; of equals the one that entered first."""
    scores = count_points(meetings)
    if has_byes:
        scores = scores._replace(n_byes=_count_byes(meetings, len(agents)))
        for position, n_byes in scores.n_byes.items():
            scores.points[position] += _BYE * n_byes
    order = sorted(range(len(agents)), key=lambda position: -scores.points[position])
    return rank_positions(order[:MOST_RANKED], name_positions(order[:MOST_RANKED], agents), scores)


def count_points(meetings: Sequence[Meeting]) -> Scores:
    """Return the points of the blocks that are closed."""
    scores = Scores(defaultdict(float), Counter(), Counter())
    for meeting in meetings:
        if meeting.points is not None:
            for position, points in zip(meeting.lineup, meeting.points, strict=True):
                scores.points[position] += points
            scores.n_blocks.update(meeting.lineup)
    return scores


def rank_positions(
    order: Sequence[int],
    named: Mapping[int, Contender],
    scores: Scores,
) -> list[RankedAgent]:
    """Return the rows of these positions, the best first; equal points share a place."""
    rows, rank = list[RankedAgent](), 1
    for number, position in enumerate(order, 1):
        points = f"{scores.points[position]:g}"
        if not rows or rows[-1].points != points:
            rank = number
        rows.append(
            RankedAgent(
                rank,
                named[position],
                points,
                scores.n_blocks[position],
                scores.n_byes[position],
            )
        )
    return rows


def rank_by_stage(
    agents: Sequence[int], stages: Sequence[Stage], mu: Mapping[int, float]
) -> list[RankedAgent]:
    """Return the places: of the final by its points, of all others by stage and then by rating.

    mu: ratings by agent. Points of groups of different strength say nothing, so that they place
    nobody; who has no rating either has no place.
    """
    final, finals = stages[-1], [stage for stage in stages if stage.is_knockout]
    scores = count_points([meeting for group in final.groups for meeting in group.meetings])
    # The groups before the semi-finals are made anew of all: they are one stage.
    reached = dict.fromkeys(range(len(agents)), 0)
    for number, stage in enumerate(finals, 1):
        reached |= dict.fromkeys(stage.members, number)
    is_final = {position: number == len(finals) for position, number in reached.items()}

    def measure(position: int) -> tuple[int, float]:
        by = scores.points[position] if is_final[position] else mu.get(agents[position], -inf)
        return reached[position], by

    order = sorted(reached, key=measure, reverse=True)[:MOST_RANKED]
    named, rows, rank = name_positions(order, agents), list[RankedAgent](), 1
    for number, position in enumerate(order, 1):
        if number == 1 or measure(position) != measure(order[number - 2]):
            rank = number
        rows.append(
            RankedAgent(
                None if measure(position)[1] == -inf else rank,
                named[position],
                f"{scores.points[position]:g}" if is_final[position] else "",
                scores.n_blocks[position],
                reached=finals[reached[position] - 1].title if reached[position] else "Groups",
            )
        )
    return rows


def build_stages(
    agents: Sequence[int], meetings: Sequence[Meeting], *, rules: GroupRules, n_seats: int
) -> list[StageTables]:
    """Return the tables of the stages that have begun, the final first."""
    stages = split_stages(Field(len(agents), n_seats), meetings, rules)
    groups = [group for stage in stages for group in stage.groups[:MOST_GROUPS]]
    members = {agent for group in groups for meeting in group.meetings for agent in meeting.lineup}
    contenders = name_positions(sorted(members), agents)
    return [
        StageTables(
            stage.title,
            [_build_group(group, contenders) for group in stage.groups[:MOST_GROUPS]],
            len(stage.groups),
        )
        for stage in reversed(stages)
        if any(group.meetings for group in stage.groups)
    ]


def name_positions(positions: Sequence[int], agents: Sequence[int]) -> dict[int, Contender]:
    contenders = read_contenders([agents[position] for position in positions])
    return {position: contenders[agents[position]] for position in positions}


def _build_group(group: Group, contenders: Mapping[int, Contender]) -> GroupTable:
    scores = count_points(group.meetings)
    members = dict.fromkeys(agent for meeting in group.meetings for agent in meeting.lineup)
    order = sorted(members, key=lambda position: (-scores.points[position], position))
    n_closed = sum(meeting.points is not None for meeting in group.meetings)
    rows = rank_positions(order[:MOST_RANKED], contenders, scores)
    return GroupTable(group.title, rows, group.n_blocks - n_closed)


def _count_byes(meetings: Sequence[Meeting], n_agents: int) -> Counter[int]:
    """Return how often each agent was left over in a round that is closed; that counts as a win."""
    per_round, n_byes = n_agents // 2, Counter[int]()
    for start in range(0, len(meetings) - per_round + 1, per_round):
        played = meetings[start : start + per_round]
        # Nobody is left over before the round is closed: it may still be planned.
        if all(meeting.points is not None for meeting in played):
            paired = {agent for meeting in played for agent in meeting.lineup}
            n_byes.update(set(range(n_agents)) - paired)
    return n_byes
