"""Plan the matches of scheduled tournaments: who meets whom, in which seats, on which seed."""

import logging
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count, islice
from time import monotonic, sleep
from typing import NamedTuple

from django.db import transaction
from django.db.models import F, Max

from arena.errors import ArenaError
from arena.games import registry as games
from arena.pairing import registry as pairings
from arena.pairing.base import (
    Field,
    Lineup,
    count_blocks,
    draw_lineups,
    draw_partners,
    rotate_seats,
)
from arena.seeding import derive
from matches import dispatch
from matches.errors import BadInputError
from matches.ledger import adaptive_pairing, code_versions, reuse
from matches.ledger.reuse import KnownMatch, MatchIdentity
from matches.ledger.tournaments import cancel_tournament, finish_if_closed, refuse_unusable
from matches.models import Agent, Checkpoint, Leaderboard, Match, Seat, Tournament
from matches.models.match import join_numbers
from matches.ratings.entrants import entrants_of
from matches.store.bulk import among, insert_rows, split_batches
from matches.store.failures import Failures
from matches.store.match_needs import needs_of_match, read_programs_of

log = logging.getLogger(__name__)

# Matches planned in one transaction: some ten milliseconds of the write lock.
SLICE = 500
# How long one call plans: other duties of control wait for the thread.
PLAN_S = 5.0
# And rests after a slice at most: that of a pairing that thinks long would stop those duties, too.
MAX_REST_S = 0.5


class PlannedMatch(NamedTuple):
    """A match to write: agent indices by seat, block number, rotation and game seed."""

    seats: tuple[int, ...]
    block: int
    rotation: int
    game_seed: int


@dataclass
class Draft:
    """A tournament that is being planned."""

    tournament: Tournament
    slices: Iterator[int]
    turn: int = 0
    """When its last slice was written, counted over all drafts."""

    def is_of(self, row: Tournament) -> bool:
        """Say whether the row is as the draft left it: nobody has planned or extended it since."""
        own = self.tournament
        return (own.key, own.n_planned, own.n_matches) == (row.key, row.n_planned, row.n_matches)


# Kept between two calls, as drawing takes its time.
_drafts: dict[int, Draft] = {}
_turns = count(1)


def plan_scheduled(
    *,
    now: datetime,
    clock: Callable[[], float] = monotonic,
    rest: Callable[[float], object] = sleep,
) -> int:
    """Plan the tournaments that wait for it, a slice of each in turn; return how many matches.

    After PLAN_S the others are left to the next call. rest: waits so many seconds.
    """
    until, n_new, over, failures = clock() + PLAN_S, 0, set[int](), Failures()
    while waiting := _list_waiting(over):
        # One that has just come is the next: it waits for one slice of another, however large.
        tournament = min(
            waiting, key=lambda row: (_drafts[row.pk].turn if row.pk in _drafts else 0, row.pk)
        )
        began, n_written = clock(), None
        with failures.collect(f"planning tournament {tournament.pk}"):
            n_written = _plan_slice(tournament, now=now)
        n_new += n_written or 0
        if n_written is None:
            over.add(tournament.pk)
            _drafts.pop(tournament.pk, None)
        ended = clock()
        if n_written is not None:
            # As long again: the rating shares the process and the writer's lock with the planner,
            # and without it boards lag half a second more while a large tournament is planned.
            rest(min(ended - began, MAX_REST_S))
        if ended >= until and len(waiting) > (n_written is None):
            dispatch.wake_planner()
            break
    failures.raise_all()
    return n_new


def _list_waiting(over: Container[int]) -> list[Tournament]:
    """Return the tournaments to plan; drafts of others are dropped."""
    to_plan = Tournament.objects.filter(state__in=Tournament.TO_PLAN)
    rows = {row.pk: row for row in to_plan.select_related("leaderboard")}
    for pk in [pk for pk, draft in _drafts.items() if pk not in rows or not draft.is_of(rows[pk])]:
        del _drafts[pk]
    return [row for pk, row in rows.items() if pk not in over]


def _plan_slice(tournament: Tournament, *, now: datetime) -> int | None:
    """Write the next slice; return how many matches, None when it is over for this call.

    What cannot be planned is cancelled with the reason, so that the others go on.
    """
    try:
        draft = _drafts.get(tournament.pk)
        if draft is None:
            if not code_versions.is_plannable(tournament):
                return None
            entered = Agent.objects.filter(tournaments=tournament)
            refuse_unusable(entered)
            if entered.filter(checkpoint__state=Checkpoint.State.CHECKING).exists():
                return None
            draft = _drafts[tournament.pk] = Draft(tournament, plan_slices(tournament, now=now))
        draft.turn = next(_turns)
        return next(draft.slices, None)
    except (ArenaError, BadInputError) as error:
        log.error("tournament %s cannot be planned: %s", tournament.pk, error)
        Tournament.objects.filter(pk=tournament.pk).update(problem=str(error)[:300])
        cancel_tournament(tournament, now=now)
        return None


def plan_tournament(tournament: Tournament, *, now: datetime) -> int:
    """Write all matches that are not planned yet; return how many."""
    return sum(plan_slices(tournament, now=now))


def plan_slices(tournament: Tournament, *, now: datetime) -> Iterator[int]:
    """Write the matches that are not planned yet, a slice at a time; yield how many in each.

    After a crash the same matches are drawn again and those already written are passed over. Those
    of a pairing that adapts are only what it chooses now: its tournament stays in planning.
    """
    entrants = entrants_of(tournament)
    if tournament.pairing not in pairings.adaptive_names():
        unplanned = islice(draw_matches(tournament, len(entrants)), tournament.n_planned, None)
        if (yield from _write_all(tournament, entrants, unplanned, now=now)):
            _end_planning(tournament, now=now)
        return
    n_left = tournament.n_matches - tournament.n_planned
    choice = adaptive_pairing.choose_lineups(tournament, entrants, n_left=n_left, now=now)
    chosen = islice(_draw_fresh_blocks(tournament, choice.lineups), n_left)
    is_written = yield from _write_all(tournament, entrants, chosen, now=now)
    if is_written and choice.is_over and tournament.n_planned:
        adaptive_pairing.shorten_tournament(tournament)
    if is_written and tournament.n_planned >= tournament.n_matches:
        _end_planning(tournament, now=now)


def _write_all(
    tournament: Tournament,
    entrants: Sequence[int],
    planned: Iterator[PlannedMatch],
    *,
    now: datetime,
) -> Generator[int, None, bool]:
    """Yield how many each slice wrote; return whether all: False when somebody else was there."""
    n_seats = games.get(tournament.leaderboard.game).spec.n_seats
    twins: list[int] | None = None  # tournaments that may have played some of its matches already
    for batch in split_batches(planned, max(n_seats, SLICE - SLICE % n_seats)):
        if twins is None:
            twins = reuse.find_twins(tournament, entrants)
            reuse.note_twins(tournament, twins)
        lineups = [[entrants[index] for index in planned.seats] for planned in batch]
        places = [
            MatchIdentity(planned.block, planned.game_seed, join_numbers(lineup))
            for planned, lineup in zip(batch, lineups, strict=True)
        ]
        plays_all = tournament.replays or tournament.keeps_trajectories
        known_by_key = reuse.find_known_matches(
            tournament.leaderboard, () if plays_all else twins, places
        )
        known_matches = [known_by_key.get(place.key) for place in places]
        n_written = _write_slice(tournament, batch, lineups, known_matches, now=now)
        if n_written == 0:
            return False
        yield n_written
    return True


def _end_planning(tournament: Tournament, *, now: datetime) -> None:
    # One that was extended meanwhile stays as it is: its rest is planned at the next tick.
    Tournament.objects.filter(
        pk=tournament.pk, state=Tournament.State.PLANNING, n_matches=tournament.n_matches
    ).update(state=Tournament.State.RUNNING)
    # Its matches may be closed before the state says that all are planned.
    finish_if_closed([tournament.pk], now=now)
    dispatch.wake_rater()


def _name_seeds(tournament: Tournament) -> tuple[str | int, ...]:
    """Return what its game seeds are derived from, but for the block.

    What is played to be trained on draws under another name: no agent is rated on what it may have
    been trained on.
    """
    board = tournament.leaderboard
    is_training = tournament.keeps_trajectories and not tournament.is_rated
    version = games.get(board.game).spec.rules_version
    return ("train" if is_training else "game", board.game, version, tournament.seed)


def draw_matches(tournament: Tournament, n_agents: int) -> Iterator[PlannedMatch]:
    """Yield the matches of a tournament in planned order; the same every time."""
    board = tournament.leaderboard
    spec = games.get(board.game).spec
    scope = _name_seeds(tournament)
    if n_agents == 1:
        # One match per block: with itself in the other seats it would only be repeated.
        return (
            PlannedMatch((0,) * spec.n_seats, block, 0, derive(*scope, block))
            for block in range(tournament.n_matches)
        )
    field = Field(n_agents=n_agents, n_seats=spec.n_seats)
    n_blocks = count_blocks(tournament.n_matches, spec.n_seats)
    seed = derive("pairing", tournament.seed)
    pairing = pairings.get(tournament.pairing)
    lineups = draw_lineups(
        tournament.pairing, field, lambda: pairing.pair(field, n_blocks, seed=seed)
    )
    if spec.teams:
        lineups = [
            draw_partners(lineup, derive("partners", *scope[1:], block))
            for block, lineup in enumerate(lineups)
        ]
    return islice(_draw_blocks(lineups, scope), tournament.n_matches)


def _draw_fresh_blocks(tournament: Tournament, lineups: Sequence[Lineup]) -> Iterator[PlannedMatch]:
    """Yield the blocks of lineups that were just chosen: no two of a tournament share a seed."""
    spec = games.get(tournament.leaderboard.game).spec
    scope = _name_seeds(tournament)
    if spec.is_scored:
        yield from _draw_next_seeds(tournament, lineups, scope)
        return
    for block, lineup in enumerate(lineups, start=tournament.n_planned // spec.n_seats):
        game_seed = derive(*scope, block)
        if spec.teams:
            lineup = draw_partners(lineup, derive("partners", *scope[1:], block))
        for rotation, seats in enumerate(rotate_seats(lineup)):
            yield PlannedMatch(seats, block, rotation, game_seed)


def _draw_next_seeds(
    tournament: Tournament, lineups: Sequence[Lineup], scope: tuple[str | int, ...]
) -> Iterator[PlannedMatch]:
    """Yield the next block of each agent that plays alone: all agents play the same seeds."""
    of_agent = Match.objects.filter(tournament=tournament).values_list("lineup")
    last = {int(agent): block for agent, block in of_agent.annotate(last=Max("block"))}
    entrants = entrants_of(tournament)
    n_planned = Counter({place: 1 + last.get(agent, -1) for place, agent in enumerate(entrants)})
    for (agent,) in lineups:
        block = n_planned[agent]
        n_planned[agent] += 1
        yield PlannedMatch((agent,), block, 0, derive(*scope, block))


def _draw_blocks(
    lineups: Sequence[tuple[int, ...]], scope: tuple[str | int, ...]
) -> Iterator[PlannedMatch]:
    # Blocks are numbered per set of agents, so that two agents meet again on new seeds, and the
    # n-th meeting of any two agents in any tournament of a seed set is on the same one.
    n_blocks: Counter[tuple[int, ...]] = Counter()
    seeds: list[int] = []
    for lineup in lineups:
        key = tuple(sorted(lineup))
        block = n_blocks[key]
        n_blocks[key] += 1
        if block == len(seeds):
            seeds.append(derive(*scope, block))
        for rotation, seats in enumerate(rotate_seats(lineup)):
            yield PlannedMatch(seats, block, rotation, seeds[block])


@transaction.atomic
def _write_slice(
    tournament: Tournament,
    batch: Sequence[PlannedMatch],
    lineups: Sequence[list[int]],
    known_matches: Sequence[KnownMatch | None],
    *,
    now: datetime,
) -> int:
    """Write one slice, unless the tournament was planned further or cancelled meanwhile."""
    # The conditional UPDATE is the lock: of two planners one writes the slice.
    is_mine = Tournament.objects.filter(
        pk=tournament.pk,
        n_planned=tournament.n_planned,
        state__in=Tournament.TO_PLAN,
    ).update(
        n_planned=F("n_planned") + len(batch),
        state=Tournament.State.PLANNING,
        started_at=tournament.started_at or now,
        rules_version=games.get(tournament.leaderboard.game).spec.rules_version,
    )
    if not is_mine:
        return 0
    ids = write_matches(tournament, batch, lineups, known_matches)
    over = {pk: first for pk, first in zip(ids, known_matches, strict=True) if first is not None}
    reuse.take_over_outcomes(tournament, over, now=now)
    tournament.n_planned += len(batch)
    transaction.on_commit(dispatch.wake_relay)
    return len(batch)


def write_matches(
    tournament: Tournament,
    batch: Sequence[PlannedMatch],
    lineups: Sequence[list[int]],
    known_matches: Sequence[KnownMatch | None] | None = None,
) -> list[int]:
    """Write matches under new numbers with their agents by seat; return their ids.

    They are pending, but for those that are known, which the caller takes over.
    """
    firsts = [None] * len(batch) if known_matches is None else known_matches
    match_ids = _insert_matches(tournament, batch, lineups, firsts)
    insert_rows(
        Seat,
        ("match_id", "seat", "agent_id"),
        [
            (match_id, seat, agent)
            for match_id, lineup in zip(match_ids, lineups, strict=True)
            for seat, agent in enumerate(lineup)
        ],
    )
    return match_ids


def _insert_matches(
    tournament: Tournament,
    batch: Sequence[PlannedMatch],
    lineups: Sequence[list[int]],
    known_matches: Sequence[KnownMatch | None],
) -> list[int]:
    board_id, game = tournament.leaderboard_id, tournament.leaderboard.game
    # The row stays locked until the commit: nobody else takes these numbers meanwhile.
    boards = Leaderboard.objects.filter(pk=board_id)
    boards.update(next_sequence=F("next_sequence") + len(batch))
    first = boards.values_list("next_sequence", flat=True).get() - len(batch)
    ids = sorted({agent for lineup in lineups for agent in lineup})
    networked = Agent.objects.filter(pk__in=among(ids), checkpoint__isnull=False)
    placements = dict(networked.values_list("pk", "placement"))
    programs = read_programs_of(ids)
    rows = [
        (
            *(board_id, tournament.pk, first + i, p.block, p.rotation, p.game_seed),
            join_numbers(lineup),
            needs_of_match(
                game,
                {placements[a] for a in lineup if a in placements},
                {program for a in lineup for program in programs.get(a, ())},
            ),
            *((Match.State.DONE.value, old.match) if old else (Match.State.PENDING.value, None)),
            *(0, ""),
        )
        for i, (p, lineup, old) in enumerate(zip(batch, lineups, known_matches, strict=True))
    ]
    columns = ("leaderboard_id", "tournament_id", "sequence", "block", "rotation", "game_seed")
    more_columns = ("lineup", "needs", "state", "same_as_id", "attempt", "void_reason")
    insert_rows(Match, (*columns, *more_columns), rows)
    numbered = Match.objects.filter(
        leaderboard_id=board_id, sequence__gte=first, sequence__lt=first + len(batch)
    )
    return list(numbered.order_by("sequence").values_list("pk", flat=True))
