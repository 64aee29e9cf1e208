"""The bracket of a knockout: who meets whom in which round, as a function of what was played.

The best seeds meet last: 1 and 2 can only meet in the final. Where the field is no power of two,
the best seeds have a bye in the first round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena.pairing.base import Lineup, Meeting, PairingError

# The most points that one block of two matches gives.
_PER_BLOCK = 2.0


@dataclass(frozen=True)
class BracketSlot:
    """One place of the bracket; first and second are None until they are known.

    points: of first and second over the closed blocks. winner: None until it is decided.
    """

    first: int | None
    second: int | None
    is_bye: bool = False
    points: tuple[float, float] = (0.0, 0.0)
    n_closed: int = 0
    n_open: int = 0
    winner: int | None = None


@dataclass(frozen=True)
class Bracket:
    """Rounds of slots; the last round is the final. The winners of 2k, 2k + 1 meet in k next."""

    rounds: tuple[tuple[BracketSlot, ...], ...]

    @property
    def winner(self) -> int | None:
        """Who won the final, or None while it is open."""
        return self.rounds[-1][0].winner


@dataclass(frozen=True)
class KnockoutRules:
    """Best of so many blocks, and as many more blocks while nobody is ahead.

    After those the better seed goes on.
    """

    best_of: int
    n_tie_breaks: int

    def is_decided(self, slot: BracketSlot) -> bool:
        """Return whether the blocks left cannot turn it; tie-breaks end with the first lead."""
        lead = abs(slot.points[0] - slot.points[1])
        if slot.n_closed < self.best_of:
            return lead > _PER_BLOCK * (self.best_of - slot.n_closed)
        return slot.n_open == 0 and (lead > 0 or slot.n_closed >= self.best_of + self.n_tie_breaks)

    def n_needed(self, slot: BracketSlot) -> int:
        """Return the fewest blocks that could decide it; 0 while some are open."""
        if slot.n_open or slot.winner is not None:
            return 0
        lead, left = abs(slot.points[0] - slot.points[1]), self.best_of - slot.n_closed
        n = 1
        while n < left and lead + _PER_BLOCK * n <= _PER_BLOCK * (left - n):
            n += 1
        return n


def build_bracket(
    seeding: Sequence[int], meetings: Sequence[Meeting], rules: KnockoutRules
) -> Bracket:
    """Return the bracket of the agents, best first, after these blocks. Raises PairingError."""
    if len(seeding) < 2:  # noqa: PLR2004
        raise PairingError(f"a bracket needs 2 or more agents, got {len(seeding)}")
    played: dict[Lineup, list[Meeting]] = {}
    for meeting in meetings:
        played.setdefault(tuple(sorted(meeting.lineup)), []).append(meeting)
    rank = {agent: place for place, agent in enumerate(seeding)}
    seeds = [0]
    while len(seeds) < len(seeding):
        # Doubling the bracket, each seed gets the opponent that adds up with it to the last seed.
        size = 2 * len(seeds)
        seeds = [seed for best in seeds for seed in (best, size - 1 - best)]
    order = [seeding[seed] if seed < len(seeding) else None for seed in seeds]
    slots = list[BracketSlot]()
    for first, second in _pair_up(order):
        if first is None or second is None:
            # The field is no power of two: whom this seed would meet does not exist.
            unpaired = second if first is None else first
            slots.append(BracketSlot(unpaired, None, is_bye=True, winner=unpaired))
        else:
            slots.append(_fill_slot(BracketSlot(first, second), played, rank, rules))
    rounds = [tuple(slots)]
    while len(slots) > 1:
        pairs = _pair_up([slot.winner for slot in slots])
        slots = [_fill_slot(BracketSlot(*pair), played, rank, rules) for pair in pairs]
        rounds.append(tuple(slots))
    return Bracket(tuple(rounds))


def open_slots(bracket: Bracket) -> list[BracketSlot]:
    """Return the slots whose agents are known and whose winner is not, round by round."""
    return [
        slot
        for slots in bracket.rounds
        for slot in slots
        if slot.first is not None and slot.second is not None and slot.winner is None
    ]


def _fill_slot(
    slot: BracketSlot,
    played: Mapping[Lineup, Sequence[Meeting]],
    rank: Mapping[int, int],
    rules: KnockoutRules,
) -> BracketSlot:
    """Return the slot with what its two agents played; they meet in no other slot."""
    first, second = slot.first, slot.second
    if first is None or second is None:
        return slot
    meetings = played.get((min(first, second), max(first, second)), ())
    scores = [
        dict(zip(meeting.lineup, meeting.points, strict=True))
        for meeting in meetings
        if meeting.points is not None
    ]
    points = (sum(score[first] for score in scores), sum(score[second] for score in scores))
    n_open = len(meetings) - len(scores)
    so_far = BracketSlot(first, second, points=points, n_closed=len(scores), n_open=n_open)
    if not rules.is_decided(so_far):
        return so_far
    winner = min((first, second), key=lambda agent: (-points_of(so_far, agent), rank[agent]))
    return BracketSlot(first, second, False, points, len(scores), n_open, winner)


def points_of(slot: BracketSlot, agent: int) -> float:
    """Return the points of one of the slot's two agents over the closed blocks."""
    return slot.points[0] if agent == slot.first else slot.points[1]


def _pair_up(row: Sequence[int | None]) -> list[tuple[int | None, int | None]]:
    return list(zip(row[::2], row[1::2], strict=True))
