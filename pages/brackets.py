"""Tournaments in rounds: the bracket of a knockout, the points of Swiss and group play."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import NamedTuple

from arena.errors import ArenaError
from arena.games import registry as games
from arena.pairing import registry as pairings
from arena.pairing.base import Field, Meeting
from arena.pairing.bracket import Bracket, BracketSlot, KnockoutRules, build_bracket
from arena.pairing.stages import GroupRules, split_stages
from arena.parameters import Value, read_parameters
from matches.models import Rating, Tournament
from matches.ratings import entrants
from matches.store.bulk import among
from matches.store.fast_store import get_or_make
from matches.store.formats import format_count
from pages import round_tables
from pages.contenders import Contender
from pages.round_tables import RankedAgent, StageTables
from pages.seating import PAIR

PAIRINGS = KNOCKOUT, SWISS, GROUPS = "knockout", "swiss", "groups"
# Of a knockout of more agents only the last rounds are drawn.
MOST_DRAWN = 256
EVERY_S = 5.0
_FINALS = {1: "Final", 2: "Semi-finals", 4: "Quarter-finals"}


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

    @property
    def byes(self) -> list[Contender]:
        """The agents that go on without a match."""
        sides = (side for place in self.places if place.is_bye for side in place.sides)
        return [side.agent for side in sides if side.agent is not None]


class InRounds(NamedTuple):
    """A bracket or the tables of stages, and who stands where; what does not fit is empty.

    n_needed: matches in all that surely reach the end.
    """

    rounds: list[Round]
    stages: list[StageTables]
    table: list[RankedAgent]
    is_decided: bool
    n_agents: int
    n_needed: int


def describe_rounds(tournament: Tournament) -> InRounds | None:
    """Return how the rounds stand or stood some seconds ago, None where a tournament has none."""
    if tournament.pairing not in PAIRINGS:
        return None
    # It grows with what such a tournament plays, so it is made once for all who look.
    is_over = tournament.state in Tournament.OVER
    mark = f"{tournament.n_planned} {tournament.n_closed} {tournament.n_done} {is_over}"
    return get_or_make(
        f"rounds.{tournament.pk}",
        mark,
        lambda: read_rounds(tournament),
        form=InRounds,
        every_s=EVERY_S,
    )


def read_rounds(tournament: Tournament) -> InRounds:
    """Return how the rounds of one of PAIRINGS stand now."""
    makers = {KNOCKOUT: _draw_bracket, SWISS: _rank_swiss, GROUPS: _rank_groups}
    agents = entrants.entrants_of(tournament)
    meetings = entrants.load_meetings(tournament, agents)
    return makers[tournament.pairing](tournament, agents, meetings)


def _draw_bracket(
    tournament: Tournament, agents: Sequence[int], meetings: Sequence[Meeting]
) -> InRounds:
    parameters = _read_parameters(tournament)
    rules = KnockoutRules(int(parameters["best_of"]), int(parameters["tie_breaks"]))
    bracket = build_bracket(tournament.seeding or range(len(agents)), meetings, rules)
    drawn_rounds = [slots for slots in bracket.rounds if len(slots) <= MOST_DRAWN // 2]
    order = _find_last_rounds(bracket)[: round_tables.MOST_RANKED]
    # Only the agents that are shown are read: a bracket may hold many more.
    sides = {side for slots in drawn_rounds for slot in slots for side in (slot.first, slot.second)}
    positions = {side for side in sides if side is not None} | {position for position, *_ in order}
    contenders = round_tables.name_positions(sorted(positions), agents)
    is_over = tournament.state in Tournament.OVER
    rounds = [
        Round(
            _name_round(slots),
            [_describe_slot(slot, contenders, is_over=is_over) for slot in slots],
        )
        for slots in drawn_rounds
    ]
    n_open = sum(slot.winner is None for slots in bracket.rounds for slot in slots)
    return InRounds(
        rounds,
        [],
        _rank_by_reach(bracket, order, contenders),
        bracket.winner is not None,
        len(agents),
        tournament.n_planned + 2 * n_open * rules.best_of,
    )


def _name_round(slots: Sequence[BracketSlot]) -> str:
    return _FINALS.get(len(slots), f"Round of {2 * len(slots)}")


def _find_last_rounds(bracket: Bracket) -> list[tuple[int, int, bool]]:
    """Return (position, last round that it reached, whether it is out), the furthest first."""
    reached = dict[int, tuple[int, bool]]()
    for number, slots in enumerate(bracket.rounds):
        for slot in slots:
            for side in (slot.first, slot.second):
                if side is not None:
                    reached[side] = (number, slot.winner not in (None, side))
    # Sorting keeps the order of equals: the better half of the bracket stands first.
    return sorted(
        ((position, number, is_out) for position, (number, is_out) in reached.items()),
        key=lambda place: (place[0] != bracket.winner, -place[1], place[2]),
    )


def _rank_by_reach(
    bracket: Bracket, order: Sequence[tuple[int, int, bool]], contenders: Mapping[int, Contender]
) -> list[RankedAgent]:
    """Return the places of the winner and of everybody who is out."""
    rows = []
    for position, number, is_out in order:
        slots = bracket.rounds[number]
        rank = len(slots) + 1 if is_out else None
        if position == bracket.winner:
            rows.append(RankedAgent(1, contenders[position], reached="won"))
        else:
            rows.append(RankedAgent(rank, contenders[position], reached=_name_round(slots)))
    return rows


def _rank_swiss(
    tournament: Tournament, agents: Sequence[int], meetings: Sequence[Meeting]
) -> InRounds:
    least, n_seats = _count_least_blocks(tournament, len(agents), meetings)
    is_closed = all(meeting.points is not None for meeting in meetings)
    is_decided = is_closed and len(meetings) >= least
    table = round_tables.rank_by_points(agents, meetings, has_byes=True)
    return InRounds([], [], table, is_decided, len(agents), least * n_seats)


def _rank_groups(
    tournament: Tournament, agents: Sequence[int], meetings: Sequence[Meeting]
) -> InRounds:
    parameters = _read_parameters(tournament)
    rules = GroupRules(*(int(parameters[field.name]) for field in fields(GroupRules)))
    least, n_seats = _count_least_blocks(tournament, len(agents), meetings)
    split = split_stages(Field(len(agents), n_seats), meetings, rules)
    (final,) = split[-1].groups
    rated = Rating.objects.filter(leaderboard=tournament.leaderboard_id, agent__in=among(agents))
    table = round_tables.rank_by_stage(agents, split, dict(rated.values_list("agent_id", "mu")))
    stages = round_tables.build_stages(agents, meetings, rules=rules, n_seats=n_seats)
    return InRounds([], stages, table, final.is_over, len(agents), least * n_seats)


def _read_parameters(tournament: Tournament) -> Mapping[str, Value]:
    pairing = pairings.get_adaptive(tournament.pairing)
    return read_parameters(tournament.pairing, pairing.parameters, tournament.pairing_parameters)


def _count_least_blocks(
    tournament: Tournament, n_agents: int, meetings: Sequence[Meeting]
) -> tuple[int, int]:
    """Return the fewest blocks to its end, and the seats of a match."""
    try:
        n_seats = games.get(tournament.leaderboard.game).spec.n_seats
    except ArenaError:  # its file is gone: what was played is shown all the same
        n_seats = len(meetings[0].lineup) if meetings else PAIR
    pairing = pairings.get_adaptive(tournament.pairing).configured(tournament.pairing_parameters)
    return pairing.least_blocks(Field(n_agents, n_seats)), n_seats


def _describe_slot(
    slot: BracketSlot, contenders: Mapping[int, Contender], *, is_over: bool
) -> Place:
    sides = []
    for position, points in zip((slot.first, slot.second), slot.points, strict=True):
        agent = None if position is None else contenders[position]
        is_played = bool(slot.n_closed) and agent is not None
        # An empty side has no position, and neither has the winner of an open slot.
        is_winner = position is not None and slot.winner == position
        sides.append(Side(agent, f"{points:g}" if is_played else "", is_winner))
    if slot.is_bye:
        words = "bye"
    elif slot.winner is None and is_over:
        words = "not decided" if slot.first is not None and slot.second is not None else ""
    elif slot.first is None or slot.second is None:
        words = "waits for who comes here"
    elif slot.winner is None:
        played = format_count(slot.n_closed, "block")
        words = f"under way: {played} played" if slot.n_open else "to be played"
    else:
        is_level = slot.points[0] == slot.points[1]
        words = "level: the better seed goes on" if is_level else "decided"
    return Place((sides[0], sides[1]), words, slot.is_bye)
