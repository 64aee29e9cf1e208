"""Why an agent stands where it stands."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Sum

from matches.models import Agent, Checkpoint, Rating, Tournament
from matches.operations.explanations.presence import describe_check, read_presence
from matches.operations.explanations.tournament import of_tournament
from matches.store.explanation import RELEASE, Explanation
from matches.store.formats import age_s

MAX_TOURNAMENTS = 3
"""Tournaments under way that are looked at, the newest first."""


def of_agent(agent: Agent, *, now: datetime) -> Explanation:
    """Return what an agent waits for and what happens next.

    Its state is retired, quarantined, checking, refused, playing or idle.
    """
    entered = Tournament.objects.filter(entrant__agent=agent, state__in=Tournament.UNDER_WAY)
    under_way = list(entered.order_by("-pk")[:MAX_TOURNAMENTS])
    state = _judge_state(agent, under_way)
    summary, next_step, since = _describe_state(agent, state, under_way)
    total = Rating.objects.filter(agent=agent).aggregate(n=Sum("n_matches"), f=Sum("n_forfeits"))
    counts = f"{total['n'] or 0:,} matches counted, {total['f'] or 0:,} of them lost by forfeit"
    return Explanation(
        subject="agent",
        id=agent.pk,
        name=agent.name,
        state=state,
        since=since,
        age_s=age_s(since, now=now),
        summary=summary,
        waits_for=tuple(_list_waits(agent, state, under_way, now=now)),
        next=next_step,
        next_at=None,
        notes=(f"version {agent.shown_version} of {agent.policy}", counts),
    )


def _judge_state(agent: Agent, under_way: Sequence[Tournament]) -> str:
    if agent.is_retired:
        return "retired"
    if agent.quarantined_at is not None:
        return "quarantined"
    if agent.checkpoint is not None and agent.checkpoint.state != Checkpoint.State.READY:
        return str(agent.checkpoint.state)
    return "playing" if under_way else "idle"


def _describe_state(
    agent: Agent, state: str, under_way: Sequence[Tournament]
) -> tuple[str, str, datetime | None]:
    """Return what is, what happens next, and since when; None where nobody wrote it down."""
    names = ", ".join(f"{t.name} ({t.shown_state})" for t in under_way)
    checkpoint = agent.checkpoint
    return {
        "retired": ("retired: it stays on its leaderboards and enters no tournament", "", None),
        "quarantined": (
            f"in quarantine: {agent.quarantine_reason}",
            "none of its matches is sent; once released, those that wait are",
            agent.quarantined_at,
        ),
        "checking": (
            "its checkpoint is being checked: it plays nothing before that",
            "a gpu worker loads the checkpoint and tries it",
            checkpoint.created_at if checkpoint else None,
        ),
        "refused": (
            f"its checkpoint was refused: {checkpoint.reason if checkpoint else ''}",
            "nothing by itself; register an agent with a checkpoint that can play",
            checkpoint.checked_at if checkpoint else None,
        ),
        "playing": (f"entered in {names}", "its pending matches are played in planned order", None),
        "idle": (
            "ready, and entered in no tournament that is under way",
            "schedule a tournament with it",
            None,
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
    waits = [wait for t in under_way for wait in of_tournament(t, now=now).waits_for]
    return list(dict.fromkeys(waits))  # most tournaments wait for the same nodes
