"""Why an agent stands where it stands."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Sum

from matches.models import Agent, Checkpoint, Rating, Tournament
from matches.operations.explanations.checkpoints import describe_check
from matches.operations.explanations.presence import read_presence
from matches.operations.explanations.tournament import of_tournament
from matches.store.explanation import RELEASE, Explanation, age_s

MAX_TOURNAMENTS = 3
"""Tournaments under way that are looked at, the newest first."""

_STATES = Tournament.State


def of_agent(agent: Agent, *, now: datetime) -> Explanation:
    """Return what an agent waits for and what happens next.

    Its state is retired, quarantined, checking, refused, playing or idle.
    """
    under_way = _under_way(agent)
    state = _judge_state(agent, under_way)
    summary, after = _describe_state(agent, state, under_way)
    since = _find_since(agent, state)
    return Explanation(
        subject="agent",
        id=agent.pk,
        name=agent.name,
        state=state,
        since=since,
        age_s=age_s(since, now=now),
        summary=summary,
        waits_for=tuple(_list_waits(agent, state, under_way, now=now)),
        next=after,
        next_at=None,
        notes=(f"version {agent.shown_version} of {agent.policy}", _played(agent)),
    )


def _under_way(agent: Agent) -> Sequence[Tournament]:
    entered = Tournament.objects.filter(entrant__agent=agent, state__in=Tournament.UNDER_WAY)
    return list(entered.order_by("-pk")[:MAX_TOURNAMENTS])


def _judge_state(agent: Agent, under_way: Sequence[Tournament]) -> str:
    if agent.is_retired:
        return "retired"
    if agent.quarantined_at is not None:
        return "quarantined"
    if agent.checkpoint is not None and agent.checkpoint.state != Checkpoint.State.READY:
        return str(agent.checkpoint.state)
    return "playing" if under_way else "idle"


def _find_since(agent: Agent, state: str) -> datetime | None:
    checkpoint = agent.checkpoint
    if state == "quarantined":
        return agent.quarantined_at
    if checkpoint is None:
        return None
    if state == Checkpoint.State.CHECKING:
        return checkpoint.created_at
    return checkpoint.checked_at if state == Checkpoint.State.REFUSED else None


def _describe_state(agent: Agent, state: str, under_way: Sequence[Tournament]) -> tuple[str, str]:
    """Return what is and what happens next."""
    names = ", ".join(f"{t.name} ({t.shown_state})" for t in under_way)
    reason = agent.checkpoint.reason if agent.checkpoint else ""
    return {
        "retired": ("retired: it stays on its leaderboards and enters no tournament", ""),
        "quarantined": (
            f"in quarantine: {agent.quarantine_reason}",
            "none of its matches is sent; once released, those that wait are",
        ),
        "checking": (
            "its checkpoint is being checked: it plays nothing before that",
            "a gpu worker loads the checkpoint and tries it",
        ),
        "refused": (
            f"its checkpoint was refused: {reason}",
            "nothing by itself; register an agent with a checkpoint that can play",
        ),
        "playing": (f"entered in {names}", "its pending matches are played in planned order"),
        "idle": (
            "ready, and entered in no tournament that is under way",
            "schedule a tournament with it",
        ),
    }[state]


def _list_waits(
    agent: Agent, state: str, under_way: Sequence[Tournament], *, now: datetime
) -> list[str]:
    if state == "checking" and agent.checkpoint is not None:
        return [describe_check(agent.checkpoint, read_presence(now=now))]
    if state == "quarantined":
        return [RELEASE]
    if state != "playing":
        return []
    found = [wanted for t in under_way for wanted in of_tournament(t, now=now).waits_for]
    return list(dict.fromkeys(found))


def _played(agent: Agent) -> str:
    total = Rating.objects.filter(agent=agent).aggregate(n=Sum("n_matches"), f=Sum("n_forfeits"))
    return f"{total['n'] or 0:,} matches counted, {total['f'] or 0:,} of them lost by forfeit"
