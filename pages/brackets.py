"""Tournaments in rounds: the bracket of a knockout, the points of Swiss and group play."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.pairing import registry as pairings
from arena.pairing.base import Meeting
from arena.pairing.bracket import BracketSlot, KnockoutRules, build_bracket
from arena.parameters import read_parameters
from matches.models import Agent, Tournament
from matches.ratings import entrants
from matches.store.fast_store import get_or_make

KNOCKOUT, SWISS, GROUPS = "knockout", "swiss", "groups"
# Of a knockout of more agents only the last rounds are drawn.
MOST_DRAWN = 256
MOST_RANKED = 100
EVERY_S = 5.0
# The points of a block that is won: the pairing counts a bye so, and the table must agree with it.
_BYE = 2.0
_FINALS = {1: "Final", 2: "Semi-finals", 4: "Quarter-finals"}


class Contender(NamedTuple):
    """An agent of a bracket or table."""

    pk: int
    name: str

    def __str__(self) -> str:
        return self.name


class Side(NamedTuple):
    """One of the two of a slot: None until it is known who comes here."""

    agent: Contender | None
    points: str
    is_winner: bool


class Place(NamedTuple):
    """A slot of the bracket as it is shown."""

    sides: tuple[Side, Side]
    says: str
    is_bye: bool


class Round(NamedTuple):
    """A round of the bracket."""

    title: str
    places: list[Place]


class Ranked(NamedTuple):
    """An agent of a table of points."""

    rank: int
    agent: Contender
    points: str
    n_blocks: int
    n_byes: int


class InRounds(NamedTuple):
    """Either a bracket or a table; the other is empty."""

    rounds: list[Round]
    table: list[Ranked]
    winner: Contender | None
    n_agents: int


def describe_rounds(tournament: Tournament) -> InRounds | None:
    """Return how the rounds stand, None where a tournament has none."""
    if tournament.pairing not in (KNOCKOUT, SWISS, GROUPS):
        return None

    def make() -> InRounds:
        agents = entrants.entrants_of(tournament)
        meetings = entrants.load_meetings(tournament, agents)
        if tournament.pairing == KNOCKOUT:
            return _draw_bracket(tournament, agents, meetings)
        return InRounds([], _rank_by_points(tournament, agents, meetings), None, len(agents))

    # It grows with what such a tournament plays, so it is made once for all who look.
    mark = f"{tournament.n_planned} {tournament.n_closed}"
    return get_or_make(f"rounds.{tournament.pk}", mark, make, form=InRounds, every_s=EVERY_S)


def _draw_bracket(
    tournament: Tournament, agents: Sequence[int], meetings: Sequence[Meeting]
) -> InRounds:
    pairing = pairings.get_adaptive(KNOCKOUT)
    given = read_parameters(KNOCKOUT, pairing.parameters, tournament.pairing_parameters)
    rules = KnockoutRules(int(given["best_of"]), int(given["tie_breaks"]))
    bracket = build_bracket(tournament.seeding or range(len(agents)), meetings, rules)
    drawn = [slots for slots in bracket.rounds if len(slots) <= MOST_DRAWN // 2]
    sides = {side for slots in drawn for slot in slots for side in (slot.first, slot.second)}
    positions = [side for side in sides if side is not None]
    # Only the agents that are drawn are read: a bracket may hold many more.
    contenders = _read_contenders([agents[position] for position in positions])
    named = {position: contenders[agents[position]] for position in positions}
    rounds = [
        Round(
            _FINALS.get(len(slots), f"Round of {2 * len(slots)}"),
            [_describe_slot(slot, named) for slot in slots],
        )
        for slots in drawn
    ]
    winner = None if bracket.winner is None else named[bracket.winner]
    return InRounds(rounds, [], winner, len(agents))


def _read_contenders(agents: Sequence[int]) -> dict[int, Contender]:
    rows = Agent.objects.in_bulk(agents)
    return {pk: Contender(pk, str(agent)) for pk, agent in rows.items()}


def _describe_slot(slot: BracketSlot, named: Mapping[int, Contender]) -> Place:
    sides = []
    for position, points in zip((slot.first, slot.second), slot.points, strict=True):
        agent = None if position is None else named[position]
        is_played = bool(slot.n_closed) and agent is not None
        # An empty side has no position, and neither has the winner of an open slot.
        is_winner = position is not None and slot.winner == position
        sides.append(Side(agent, f"{points:g}" if is_played else "", is_winner))
    if slot.is_bye:
        words = "bye"
    elif slot.first is None or slot.second is None:
        words = "waits for who comes here"
    elif slot.winner is None:
        words = f"under way: {slot.n_closed} blocks played" if slot.n_open else "to be played"
    else:
        is_level = slot.points[0] == slot.points[1]
        words = "level: the better seed goes on" if is_level else "decided"
    return Place((sides[0], sides[1]), words, slot.is_bye)


def _rank_by_points(
    tournament: Tournament, agents: Sequence[int], meetings: Sequence[Meeting]
) -> list[Ranked]:
    """Return who has how many points, the most first; of equals the one that entered first."""
    points, n_blocks = Counter[int](), Counter[int]()
    for meeting in meetings:
        if meeting.points is not None:
            points.update(dict(zip(meeting.lineup, meeting.points, strict=True)))
            n_blocks.update(meeting.lineup)
    n_byes = _count_byes(meetings, len(agents)) if tournament.pairing == SWISS else Counter[int]()
    total = [points[position] + _BYE * n_byes[position] for position in range(len(agents))]
    # Sorting keeps the order of equals, and positions are in the order of entry.
    order = sorted(range(len(agents)), key=lambda position: -total[position])[:MOST_RANKED]
    contenders = _read_contenders([agents[position] for position in order])
    return [
        Ranked(
            rank,
            contenders[agents[position]],
            f"{total[position]:g}",
            n_blocks[position],
            n_byes[position],
        )
        for rank, position in enumerate(order, 1)
    ]


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
