"""Tournaments in rounds: the bracket of a knockout, the points of Swiss and group play."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.pairing import registry as pairings
from arena.pairing.base import Meeting
from arena.pairing.bracket import Bracket, BracketSlot, KnockoutRules, build_bracket
from arena.parameters import read_parameters
from matches.models import Agent, Tournament
from matches.ratings import entrants
from matches.store.fast_store import get_or_make

KNOCKOUT, SWISS, GROUPS = "knockout", "swiss", "groups"
MOST_DRAWN = 256
"""Of a knockout of more agents only the last rounds are drawn."""
MOST_RANKED = 100
EVERY_S = 5.0
_BYE = 2.0
_FINALS = ("Final", "Semi-finals", "Quarter-finals")


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


def of_tournament(tournament: Tournament) -> InRounds | None:
    """Return how the rounds stand, None where a tournament has none.

    It grows with what such a tournament plays, so it is made once for all who look.
    """
    if tournament.pairing not in (KNOCKOUT, SWISS, GROUPS):
        return None
    mark = f"{tournament.n_planned} {tournament.n_closed}"
    key = f"rounds.{tournament.pk}"
    return get_or_make(key, mark, lambda: _found(tournament), form=InRounds, every_s=EVERY_S)


def _found(tournament: Tournament) -> InRounds:
    agents = entrants.entrants_of(tournament)
    meetings = entrants.load_meetings(tournament, agents)
    if tournament.pairing == KNOCKOUT:
        return _drawn(tournament, agents, meetings)
    return InRounds([], _table(tournament, agents, meetings), None, len(agents))


def _drawn(tournament: Tournament, agents: Sequence[int], meetings: Sequence[Meeting]) -> InRounds:
    seeding = tournament.seeding or range(len(agents))
    made = build_bracket(seeding, meetings, _rules(tournament))
    shown = [slots for slots in made.rounds if len(slots) <= MOST_DRAWN // 2]
    named = _named(agents, shown)
    rounds = [Round(_title(len(slots)), [_place(slot, named) for slot in slots]) for slots in shown]
    return InRounds(rounds, [], _winner(made, named), len(agents))


def _rules(tournament: Tournament) -> KnockoutRules:
    pairing = pairings.get_adaptive(KNOCKOUT)
    given = read_parameters(KNOCKOUT, pairing.parameters, tournament.pairing_parameters)
    return KnockoutRules(int(given["best_of"]), int(given["tie_breaks"]))


def _named(agents: Sequence[int], shown: Sequence[Sequence[BracketSlot]]) -> dict[int, Contender]:
    """Return the agents of the slots by position."""
    wanted = {side for slots in shown for slot in slots for side in (slot.first, slot.second)}
    shown_agents = _contenders([agents[position] for position in wanted if position is not None])
    return {position: shown_agents[agents[position]] for position in wanted if position is not None}


def _contenders(agents: Sequence[int]) -> dict[int, Contender]:
    rows = Agent.objects.in_bulk(agents)
    return {pk: Contender(pk, str(agent)) for pk, agent in rows.items()}


def _winner(made: Bracket, named: Mapping[int, Contender]) -> Contender | None:
    return None if made.winner is None else named[made.winner]


def _title(n_slots: int) -> str:
    place = n_slots.bit_length() - 1
    return _FINALS[place] if place < len(_FINALS) else f"Round of {2 * n_slots}"


def _place(slot: BracketSlot, named: Mapping[int, Contender]) -> Place:
    sides = (
        _side(slot, slot.first, slot.points[0], named),
        _side(slot, slot.second, slot.points[1], named),
    )
    return Place(sides, _says(slot), slot.is_bye)


def _side(
    slot: BracketSlot, position: int | None, points: float, named: Mapping[int, Contender]
) -> Side:
    agent = None if position is None else named[position]
    is_played = bool(slot.n_closed) and agent is not None
    is_winner = position is not None and slot.winner == position
    return Side(agent, f"{points:g}" if is_played else "", is_winner)


def _says(slot: BracketSlot) -> str:
    if slot.is_bye:
        return "bye"
    if slot.first is None or slot.second is None:
        return "waits for who comes here"
    if slot.winner is None:
        return f"under way: {slot.n_closed} blocks played" if slot.n_open else "to be played"
    return "level: the better seed goes on" if slot.points[0] == slot.points[1] else "decided"


def _table(
    tournament: Tournament, agents: Sequence[int], meetings: Sequence[Meeting]
) -> list[Ranked]:
    """Return who has how many points, the most first; of equals the one that entered first."""
    points, n_blocks = Counter[int](), Counter[int]()
    for meeting in meetings:
        if meeting.points is not None:
            points.update(dict(zip(meeting.lineup, meeting.points, strict=True)))
            n_blocks.update(meeting.lineup)
    n_byes = _byes(meetings, len(agents)) if tournament.pairing == SWISS else Counter[int]()
    total = [points[at] + _BYE * n_byes[at] for at in range(len(agents))]
    order = sorted(range(len(agents)), key=lambda at: -total[at])[:MOST_RANKED]
    named = _contenders([agents[at] for at in order])
    return [
        Ranked(rank, named[agents[at]], f"{total[at]:g}", n_blocks[at], n_byes[at])
        for rank, at in enumerate(order, 1)
    ]


def _byes(meetings: Sequence[Meeting], n_agents: int) -> Counter[int]:
    """Return how often each agent was left over in a round that is closed; that counts as a win."""
    per_round, n_byes = n_agents // 2, Counter[int]()
    for start in range(0, len(meetings) - per_round + 1, per_round):
        played = meetings[start : start + per_round]
        if all(meeting.points is not None for meeting in played):
            met = {agent for meeting in played for agent in meeting.lineup}
            n_byes.update(set(range(n_agents)) - met)
    return n_byes
