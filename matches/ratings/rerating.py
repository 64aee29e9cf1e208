"""Compute the ratings of a leaderboard again, from all outcomes that count.

The long part, reading every outcome up to the prefix, needs no lock: nothing there changes unless a
match is struck, and that asks for another time. What came meanwhile is added under the lock of the
leaderboard, which is taken often and never for long. Memory holds agents and pairs, no outcomes.
"""

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet

from arena.ratings.base import MU, SIGMA, Constants
from arena.ratings.live import fold_matches
from arena.ratings.scores import ScoreBook
from arena.teams import NO_TEAMS, Teams
from matches import dispatch
from matches.models import Leaderboard, Match, Rating, Tournament
from matches.models.match import read_numbers
from matches.ratings import rater
from matches.ratings.counting import (
    KINDS,
    CountTable,
    Result,
    Tally,
    sum_counts,
    tally_results,
    teams_of,
)
from matches.ratings.rater import COUNTERS
from matches.ratings.score_counting import is_scored, make_book, read_score, tally_episodes
from matches.store import auditing
from matches.store.auditing import Actor
from matches.store.bulk import among, insert_rows, split_batches, update_rows
from matches.store.catalog import game_problem
from matches.store.failures import Failures

log = logging.getLogger(__name__)

# Matches that are read at once.
CHUNK = 5_000
# How often it catches up with what was recorded meanwhile before it takes the lock.
N_ROUNDS = 4
# Agents whose pairs are compared under one lock.
AGENTS_AT_ONCE = 20


@dataclass
class Fold:
    """All that follows from the outcomes up to a place in the planned order."""

    constants: Constants
    teams: Teams = NO_TEAMS
    sequence: int = 0
    n_outcomes: int = 0
    total: Tally = field(default_factory=Tally)
    index: dict[int, int] = field(default_factory=dict)
    mus: list[float] = field(default_factory=list)
    sigmas: list[float] = field(default_factory=list)
    # Of a game of one seat, whose episodes are compared by score and have no live rating.
    book: ScoreBook | None = None

    def add(self, results: Sequence[Result]) -> None:
        """Take in outcomes in planned order."""
        self.n_outcomes += len(results)
        if self.book is not None:
            tally_episodes(results, self.book, self.total)
            return
        tally_results(results, self.total, teams=self.teams)
        lineups = [read_numbers(result.lineup) for result in results]
        for agent in chain.from_iterable(lineups):
            if agent not in self.index:
                self.index[agent] = len(self.mus)
                self.mus.append(MU)
                self.sigmas.append(SIGMA)
        played = (
            ([self.index[agent] for agent in lineup], read_numbers(result.ranks))
            for lineup, result in zip(lineups, results, strict=True)
        )
        fold_matches(self.mus, self.sigmas, played, self.constants, self.teams)

    def tally_more(self, results: Sequence[Result]) -> Tally:
        """Return what outcomes after these add to the counts, without taking them in."""
        if self.book is None:
            return tally_results(results, teams=self.teams)
        blocks = self.book.copy_blocks({result.game_seed for result in results})
        return tally_episodes(results, blocks)

    def state_of(self, agent: int) -> tuple[float, float]:
        """Return live mu and sigma of an agent."""
        at = self.index.get(agent)
        return (MU, SIGMA) if at is None else (self.mus[at], self.sigmas[at])


@dataclass(frozen=True)
class Difference:
    """What was stored otherwise than computed: nothing, unless matches were struck."""

    n_outcomes: int
    n_outcomes_before: int
    # Agents whose counts or live rating differed.
    n_agents: int
    # Pairs of opponents and pairs of sides whose counts differed.
    n_pairs: int

    @property
    def is_none(self) -> bool:
        """True when every stored number was right to the last bit."""
        return not (self.n_agents or self.n_pairs or self.n_outcomes != self.n_outcomes_before)


@transaction.atomic
def request_rerating(board: Leaderboard, *, actor: Actor, reason: str, now: datetime) -> None:
    """Have control compute the ratings of a leaderboard again. Raises BadInputError."""
    why = auditing.check_reason(reason)
    Leaderboard.objects.filter(pk=board.pk).update(n_rerates_asked=F("n_rerates_asked") + 1)
    board.refresh_from_db(fields=("n_rerates_asked", "n_rerates_done", "n_counted"))
    touched = {"n_counted": board.n_counted}
    auditing.add_audit_row(
        "leaderboard.rerate", actor=actor, targets=[board], reason=why, touched=touched, now=now
    )
    transaction.on_commit(dispatch.wake_rerater)


def is_due() -> bool:
    """Say whether the ratings of some leaderboard are to be computed again."""
    return _filter_due_boards().exists()


def rerate_due(*, now: datetime) -> list[int]:
    """Rate again the leaderboards of which that was asked; return those that were."""
    failures, rated = Failures(), list[int]()
    for board in _filter_due_boards().order_by("pk"):
        if game_problem(board.game):
            continue  # it waits until its plug-in is here again; its page says so
        with failures.collect(f"rating leaderboard {board.pk} again"):
            rated += [board.pk] if rerate(board, now=now) is not None else []
    failures.raise_all()
    return rated


def rerate(board: Leaderboard, *, now: datetime) -> Difference | None:
    """Compute and store all ratings of a leaderboard; return what differed.

    None when a match was struck meanwhile: it is still asked for then.
    """
    board.refresh_from_db()
    fold = Fold(
        Constants(draw_probability=board.draw_probability),
        teams_of(board),
        sequence=board.season_first_sequence - 1,
        book=make_book(board) if is_scored(board) else None,
    )
    # Without the lock: each round leaves less for the time that others wait for it.
    for _ in range(N_ROUNDS):
        prefix = Leaderboard.objects.values_list("prefix_sequence", flat=True).get(pk=board.pk)
        if prefix == fold.sequence:
            break
        _read_up_to(prefix, fold, board)
    n_pairs = _mend_counts(board, fold)
    difference = None if n_pairs is None else _finish_rerating(board, fold, n_pairs, now=now)
    if difference is not None:
        _settle_again(board, now=now)
    return difference


def _filter_due_boards() -> QuerySet[Leaderboard]:
    return Leaderboard.objects.filter(n_rerates_asked__gt=F("n_rerates_done"))


def _read_up_to(sequence: int, fold: Fold, board: Leaderboard) -> None:
    """Take in the outcomes after those of the fold up to this place, a chunk at a time."""
    unrated = set(
        Tournament.objects.filter(leaderboard=board, is_rated=False).values_list("pk", flat=True)
    )
    done_matches = Match.objects.filter(leaderboard=board, state=Match.State.DONE).order_by(
        "sequence"
    )
    columns = ("pk", "sequence", "lineup", "outcome__ranks", "outcome__guilty_seat")
    more = ("outcome__reason", "tournament_id", "same_as__leaderboard_id")
    scored = ("game_seed", "outcome__returns")
    while fold.sequence < sequence:
        end = min(sequence, fold.sequence + CHUNK)
        chunk = done_matches.filter(sequence__gt=fold.sequence, sequence__lte=end)
        fold.add(
            [
                Result(
                    *(pk, place, True, lineup, ranks, guilty, first is not None, reason),
                    game_seed=seed,
                    score=read_score(returns),
                )
                for pk, place, lineup, ranks, guilty, reason, tournament, first, seed, returns in (
                    chunk.values_list(*columns, *more, *scored)
                )
                # The same game again on the same leaderboard counts nothing.
                if tournament not in unrated and first != board.pk
            ]
        )
        fold.sequence = end


def _mend_counts(board: Leaderboard, fold: Fold) -> int | None:
    """Store the counts that differ; return how many, None when a match was struck since."""
    sorted_keys = [sorted(kind.of(fold.total)) for kind in KINDS]
    n_mended = 0
    # A few agents at a time, so that nobody waits for the lock of a million pairs.
    for leads in split_batches(sorted(_list_agents(board)), AGENTS_AT_ONCE):
        keys_by_kind = []
        for kind, keys in zip(KINDS, sorted_keys, strict=True):
            # Keys begin with their lead, so those of these agents lie side by side.
            begin = bisect_left(keys, leads[0], key=kind.lead_of)
            end = bisect_right(keys, leads[-1], key=kind.lead_of)
            keys_by_kind.append(keys[begin:end])
        mended = _mend_some(board, fold, leads, keys_by_kind)
        if mended is None:
            return None
        n_mended += mended
    return n_mended


@transaction.atomic
def _mend_some(
    board: Leaderboard, fold: Fold, leads: Sequence[int], keys_by_kind: Sequence[Sequence[Any]]
) -> int | None:
    """Compare the counts of these agents with what is counted by now, store what differs."""
    locked = _lock_unless_struck(board)
    if locked is None:
        return None
    _read_up_to(locked.prefix_sequence, fold, locked)
    counted_results = [result for result in rater.read_uncounted(board.pk) if result.is_counted]
    tallies = fold.total, fold.tally_more(counted_results)
    return sum(
        _mend_kind(board, kind, tallies, leads, set(keys))
        for kind, keys in zip(KINDS, keys_by_kind, strict=True)
    )


def _mend_kind(
    board: Leaderboard,
    kind: CountTable,
    tallies: Sequence[Tally],
    leads: Sequence[int],
    missing: set[Any],
) -> int:
    """Store one kind of counts where they differ; missing: the keys to be there."""
    changed, deleted = [], []
    led = {f"{kind.lead}__gte": leads[0], f"{kind.lead}__lte": leads[-1]}
    stored = kind.model.objects.filter(leaderboard=board, **led)
    for pk, *row in stored.values_list("pk", *kind.keys, *kind.counters).iterator(CHUNK):
        key, counts = kind.key(*row[: len(kind.keys)]), row[len(kind.keys) :]
        missing.discard(key)
        computed = sum_counts(kind, tallies, key)
        if not any(computed):
            deleted.append(pk)
        elif computed != counts:
            changed.append((*computed, pk))
    update_rows(kind.model, kind.counters, changed)
    kind.model.objects.filter(pk__in=among(deleted)).delete()
    added = [
        (board.pk, *kind.columns(key), *sum_counts(kind, tallies, key)) for key in sorted(missing)
    ]
    insert_rows(kind.model, ("leaderboard_id", *kind.keys, *kind.counters), added)
    return len(changed) + len(deleted) + len(added)


def _lock_unless_struck(board: Leaderboard) -> Leaderboard | None:
    """Return the leaderboard, locked until the commit; None when a match was struck since."""
    # Whoever strikes a match asks for another rerating in the same transaction.
    locked = Leaderboard.objects.select_for_update().get(pk=board.pk)
    return locked if locked.n_rerates_asked == board.n_rerates_asked else None


@transaction.atomic
def _finish_rerating(
    board: Leaderboard, fold: Fold, n_pairs: int, *, now: datetime
) -> Difference | None:
    """Add what came meanwhile and store what differs; None when a match was struck since."""
    locked = _lock_unless_struck(board)
    if locked is None:
        return None
    rater.count_locked(locked, now=now)
    locked.refresh_from_db()
    _read_up_to(locked.prefix_sequence, fold, locked)
    prefix = {agent: fold.state_of(agent) for agent in _list_agents(locked)}
    fold.add(rater.read_uncounted(locked.pk))
    difference = Difference(
        n_outcomes=fold.n_outcomes,
        n_outcomes_before=locked.n_counted,
        n_agents=_store_agents(locked, fold, prefix),
        n_pairs=n_pairs,
    )
    # Without its hash any fit counts as older than the one that follows, see the rater.
    Leaderboard.objects.filter(pk=locked.pk).update(
        n_counted=fold.n_outcomes,
        n_rerates_done=locked.n_rerates_asked,
        results_hash="",
        rated_at=now,
        fitted_at=now,
    )
    _note_difference(
        "leaderboard.rerated", locked, asdict(difference), is_same=difference.is_none, now=now
    )
    return difference


def _list_agents(board: Leaderboard) -> list[int]:
    return list(Rating.objects.filter(leaderboard=board).values_list("agent_id", flat=True))


def _store_agents(board: Leaderboard, fold: Fold, prefix: dict[int, tuple[float, float]]) -> int:
    """Store the counts and live ratings that differ; return how many."""
    columns = (*COUNTERS, "prefix_mu", "prefix_sigma", "live_mu", "live_sigma")
    stored = Rating.objects.filter(leaderboard=board).values_list("pk", "agent_id", *columns)
    changed = []
    for pk, agent, *values in stored:
        counts = fold.total.agents.get(agent, [0] * len(COUNTERS))
        computed = [*map(int, counts), *prefix[agent], *fold.state_of(agent)]
        if computed != values:
            changed.append((*computed, pk))
    update_rows(Rating, columns, changed)
    return len(changed)


def _settle_again(board: Leaderboard, *, now: datetime) -> None:
    """Fit the settled ratings again, and say so if they come out otherwise."""
    columns = ("agent_id", *rater.SETTLED)
    rows_before = set(Rating.objects.filter(leaderboard=board).values_list(*columns))
    rater.settle_board(board.pk, now=now)
    rows_after = set(Rating.objects.filter(leaderboard=board).values_list(*columns))
    n_changed = len(rows_after - rows_before)
    with transaction.atomic():
        touched = {"n_agents": n_changed}
        _note_difference("leaderboard.settled", board, touched, is_same=not n_changed, now=now)


def _note_difference(
    action: str, board: Leaderboard, touched: dict[str, int], *, is_same: bool, now: datetime
) -> None:
    level = logging.INFO if is_same else logging.WARNING
    log.log(level, "%s of %s, what differed: %s", action, board.name, touched)
    auditing.add_audit_row(
        action, actor=auditing.CONTROL, targets=[board], reason="", touched=touched, now=now
    )
