"""Close attempts without an outcome: the match is tried again, or VOID when it was tried enough."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import F

from arena.messages import Reason
from matches.models import Attempt, Match, Tournament
from matches.store import attempt_counters
from matches.store.bulk import among, insert_rows
from matches.store.clock import MAX_FAILURES, MAX_INTERRUPTIONS

Ending = Attempt.Ending
_MS = 1_000


class EndedAttempt(NamedTuple):
    """How one attempt ended: a row of Attempt but for the time, in the order of its columns."""

    match: int
    number: int
    ending: str
    reason: str = ""
    seat: int = -1
    detail: str = ""
    node: str = ""
    was_executing: bool = True
    n_steps: int = 0
    duration_ms: int = 0
    server: str = ""


_COLUMNS = ("match_id", *EndedAttempt._fields[1:], "ended_at")


def write_attempts(ended: Iterable[EndedAttempt], *, now: datetime) -> None:
    """Write how the attempts ended."""
    stamp = connection.ops.adapt_datetimefield_value(now)
    rows = list(ended)
    insert_rows(
        Attempt,
        _COLUMNS,
        [(*e, stamp) for e in rows],
        # One that was given up and reports late has the last word.
        replaces=("match_id", "number"),
    )
    kinds = [attempt_counters.Kind(e.ending, e.reason) for e in rows]
    # After the commit: what is rolled back was no attempt.
    transaction.on_commit(lambda: attempt_counters.count_attempts(kinds))


def give_matches_back(tournament_id: int, ended: Sequence[EndedAttempt], *, now: datetime) -> int:
    """Write attempts that brought no outcome and try their matches again; return how many are VOID.

    The matches must be in flight with these attempts, and locked by the caller's transaction.
    """
    if not ended:
        return 0
    write_attempts(ended, now=now)
    spent = _find_spent_matches([e.match for e in ended])
    retried = [e.match for e in ended if e.match not in spent]
    _move_matches(retried, Match.State.PENDING)
    by_reason: dict[str, list[int]] = defaultdict(list)
    for attempt in ended:
        if attempt.match in spent:
            by_reason[attempt.reason].append(attempt.match)
    for reason, match_ids in by_reason.items():
        _move_matches(match_ids, Match.State.VOID, void_reason=reason)
    Tournament.objects.filter(pk=tournament_id).update(
        n_retried=F("n_retried") + len(retried),
        n_void=F("n_void") + len(spent),
        lost_s=F("lost_s") + sum(attempt.duration_ms for attempt in ended) / _MS,
    )
    return len(spent)


def _find_spent_matches(match_ids: Sequence[int]) -> set[int]:
    """Return the matches that are not tried again."""
    failures: Counter[int] = Counter()
    losses: Counter[int] = Counter()
    interruptions: Counter[int] = Counter()
    earlier = Attempt.objects.filter(match__in=among(match_ids))
    for match, ending, reason, node, was_executing, n_steps in earlier.values_list(
        "match_id", "ending", "reason", "node", "was_executing", "n_steps"
    ):
        failures[match] += ending == Ending.FAILED.value
        # One that was played on, and the next goes on from there, is not lost by the same move.
        losses[match] += was_executing and not n_steps and reason == Reason.NODE_LOST.value
        # Without a node it only waited, which is no interruption.
        interruptions[match] += node != "" and ending != Ending.FAILED.value
    return {
        match
        for match in match_ids
        # Losing a node is no failure, but losing it again while the same match was executing is.
        if failures[match] + max(0, losses[match] - 1) >= MAX_FAILURES
        or interruptions[match] >= MAX_INTERRUPTIONS
    }


def _move_matches(match_ids: Sequence[int], target: Match.State, **fields: object) -> None:
    if match_ids:
        Match.objects.filter(pk__in=among(match_ids), state__in=Match.sources(target)).update(
            state=target, order=None, **fields
        )
