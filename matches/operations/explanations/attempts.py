"""How often a match was tried, in words."""

from collections.abc import Sequence

from arena.messages import Reason
from matches.models import Attempt, Match
from matches.store.clock import MAX_FAILURES, MAX_INTERRUPTIONS
from matches.store.explanation import format_count

_FAILED = Attempt.Ending.FAILED.value


def list_attempts(match: Match) -> list[Attempt]:
    """Return the attempts that have ended, the first one first; they are few by their limits."""
    return list(match.attempts.order_by("number"))


def describe_attempts(attempts: Sequence[Attempt]) -> list[str]:
    """Return how many attempts failed and how many were lost, of how many that are allowed."""
    failed = [a for a in attempts if a.ending == _FAILED]
    lost = [a for a in attempts if a.node and a.ending in _LOST]
    n_executing = sum(a.was_executing and a.reason == Reason.NODE_LOST.value for a in attempts)
    n_failures = len(failed) + max(0, n_executing - 1)
    found = []
    if n_failures:
        found.append(_describe_ending("failed", n_failures, MAX_FAILURES, (failed or lost)[-1]))
    if lost:
        found.append(_describe_ending("interrupted", len(lost), MAX_INTERRUPTIONS, lost[-1]))
    unstarted = [a for a in attempts if not a.node and a.ending in _LOST]
    if unstarted:
        found.append(f"sent {format_count(len(unstarted), 'time')} without a node that took it")
    return found


_LOST = (Attempt.Ending.INTERRUPTED.value, Attempt.Ending.EXPIRED.value)


def _describe_ending(how: str, n: int, limit: int, last: Attempt) -> str:
    at = f" on {last.node}" if last.node else ""
    detail = f": {last.detail}" if last.detail else ""
    return f"{how} {n} of {limit} times, last: {last.reason or last.ending}{at}{detail}"
