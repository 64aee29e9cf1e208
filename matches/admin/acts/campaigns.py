"""What an operator does with campaigns and alarms."""

from matches.admin.acts.base import (
    Act,
    Changed,
    Chosen,
    Confirmed,
    Effect,
    NotedAct,
    ReasonForm,
    refuse_act,
)
from matches.admin.acts.tournaments import several_matches
from matches.campaigns import judging, watching
from matches.errors import ConflictError
from matches.ledger import tournaments
from matches.models import Alarm, Campaign, Tournament
from matches.store import selectors


class Stop(NotedAct[Campaign]):
    """End a campaign before its verdict."""

    name, title, icon = "stop", "Stop", "stop_circle"
    permission = "matches.change_tournament"
    question = "Stop campaigns?"
    consequence = (
        "Their open matches are cancelled, and they end without a verdict. What was played stays "
        "counted: a new campaign starts from it. This cannot be undone."
    )
    counts = "open matches"
    form = ReasonForm
    is_grave = True

    def preview_effect(self, chosen: Chosen[Campaign]) -> Effect:
        """Return how many matches would be cancelled."""
        row = chosen.row
        if row.decided_at is not None:
            return refuse_act(f"it has ended: {row.statement}")
        if row.tournament.state in Tournament.OVER:
            return refuse_act("it is over: its verdict is being written")
        left = selectors.read_progress(row.tournament).pending
        most = f"{row.max_matches:,}"
        says = f"{several_matches(left)} of at most {most} would not be played"
        return Effect(says, n=left, seen=most)

    def change_row(self, chosen: Confirmed[Campaign]) -> Changed:
        """Cancel what is open, and write how it ended."""
        row = chosen.row
        n_cancelled = tournaments.cancel_tournament(row.tournament, now=chosen.now)
        # Cancelling changed its row: judged as it stands in the database now.
        row.tournament = Tournament.objects.select_related("leaderboard").get(pk=row.tournament_id)
        judging.judge_campaign(row, now=chosen.now)
        said = f"{row.tournament} is stopped, and {several_matches(n_cancelled)} cancelled"
        return said, {"n_cancelled": n_cancelled}


class Acknowledge(Act[Alarm]):
    """Have looked at an alarm."""

    name, title, icon = "acknowledge", "Acknowledge", "done_all"
    permission = "matches.change_alarm"
    question = "Acknowledge alarms?"
    consequence = "Pages show them no more; they stay in this list. This cannot be undone."
    form = ReasonForm

    def preview_effect(self, chosen: Chosen[Alarm]) -> Effect:
        row = chosen.row
        if row.acknowledged_at is not None:
            return refuse_act(f"{row.acknowledged_by} has acknowledged it")
        return Effect(f"raised {row.at:%Y-%m-%d %H:%M} UTC by {row.campaign.tournament}")

    def perform_act(self, chosen: Confirmed[Alarm]) -> str:
        reason = chosen.values["reason"]
        if watching.acknowledge_alarm(
            chosen.row, actor=chosen.actor, now=chosen.now, reason=reason
        ):
            return f"{chosen.row} is acknowledged"
        raise ConflictError(f"{chosen.row}: somebody else was first")


ACTS = (Stop(),)
ALARM_ACTS = (Acknowledge(),)
