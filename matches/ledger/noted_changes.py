"""What people add, and how they change tournaments, with audit rows: alike in admin and API."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Max, Model

from matches.models import Agent, AuditRow, Campaign, Leaderboard, Tournament
from matches.store import auditing
from matches.store.auditing import Actor, Target
from matches.store.locks import take_turn

Added = TypeVar("Added", Agent, Campaign, Leaderboard, Tournament)


@transaction.atomic
def add_with_audit(add: Callable[[], Added], *, actor: Actor, now: datetime) -> Added:
    """Return what was added; leave audit rows for it, and for what was added on the way.

    That are agents and the leaderboard of a tournament. What was there before gets no audit row.
    """
    # By keys and not by clocks, which differ between machines.
    kinds: tuple[type[Model], ...] = (Agent, Leaderboard, Tournament)
    newest = {
        kind: kind._default_manager.aggregate(newest=Max("pk"))["newest"] or 0 for kind in kinds
    }
    added = add()
    for row in _list_new_rows(added, newest):
        action = f"{row._meta.model_name}.add"
        if _is_noted(row, action):
            continue
        auditing.add_audit_row(
            action,
            actor=actor,
            targets=[row],
            reason="",
            touched={},
            now=now,
        )
    return added


def _is_noted(row: Model, action: str) -> bool:
    """Say whether another call at the same moment has added this row: it was waited for."""
    target = Target.of(row)
    noted = AuditRow.objects.filter(target_kind=target.kind, target_id=target.id, action=action)
    return noted.exists()


def _list_new_rows(
    added: Agent | Campaign | Leaderboard | Tournament, newest: Mapping[type[Model], int]
) -> list[Model]:
    """Return what is newer than these keys: this row, and what it brought with it."""
    if isinstance(added, Agent | Leaderboard):
        return [added] if added.pk > newest[type(added)] else []
    tournament = added.tournament if isinstance(added, Campaign) else added
    if tournament.pk <= newest[Tournament]:
        return []
    agents = Agent.objects.filter(entrant__tournament=tournament, pk__gt=newest[Agent])
    board = tournament.leaderboard
    boards = [board] if board.pk > newest[Leaderboard] else []
    return [*agents.order_by("pk"), *boards, added]


@transaction.atomic
def change_agent_with_audit(
    agent: Agent, act: str, change: Callable[[Agent], object], *, actor: Actor, now: datetime
) -> None:
    """Retire an agent or take it back (act: retire, unretire), with an audit row if that is new."""
    was_retired = agent.is_retired
    change(agent)
    if agent.is_retired != was_retired:
        auditing.add_audit_row(
            f"agent.{act}", actor=actor, targets=[agent], reason="", touched={}, now=now
        )


@transaction.atomic
def change_with_audit(
    tournament: Tournament,
    act: str,
    change: Callable[[Tournament], object],
    *,
    actor: Actor,
    reason: str = "",
    now: datetime,
) -> dict[str, Any] | None:
    """Change a tournament and leave an audit row; return what was touched, None if nothing changed.

    act: resume, pause, extend or cancel, as the audit names it. Who cancels the tournament of a
    campaign stops the campaign, and that is what the audit says.
    """
    # Its row is not locked: it comes after orders and matches, see matches.store.locks.
    take_turn(tournament.pk)
    before = Tournament.objects.get(pk=tournament.pk)
    change(tournament)
    after = Tournament.objects.get(pk=tournament.pk)
    if (before.state, before.n_matches) == (after.state, after.n_matches):
        return None
    touched: dict[str, Any] = {}
    if act == "cancel":
        touched = {"n_cancelled": after.n_cancelled - before.n_cancelled}
    elif act == "extend":
        touched = {"n_matches": after.n_matches, "n_before": before.n_matches}
    action, target = f"tournament.{act}", Target.of(after)
    stopped = Campaign.objects.filter(tournament=after).first() if act == "cancel" else None
    if stopped is not None:
        action, target = "campaign.stop", Target("campaign", stopped.pk, str(after))
    auditing.add_audit_row(
        action, actor=actor, targets=[target], reason=reason, touched=touched, now=now
    )
    return touched
