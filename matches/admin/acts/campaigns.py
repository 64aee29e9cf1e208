"""What an operator does with campaigns and alarms."""

from functools import partial

from matches.admin.acts.base import Act, ChosenRow, ConfirmedRow, Effect, ReasonForm, refuse_act
from matches.admin.acts.tournaments import several_matches
from matches.campaigns import judging, watching
from matches.errors import ConflictError
from matches.ledger import tournaments
from matches.ledger.noted_changes import change_with_audit
from matches.models import Alarm, Campaign, Tournament
from matches.store import selectors
from matches.store.locks import take_turn


class Stop(Act[Campaign]):
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

    def preview_effect(self, chosen: ChosenRow[Campaign]) -> Effect:
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

    def lock_row(self, row: Campaign) -> Campaign | None:
        """Return the campaign as it is now: changes of its tournament wait."""
        take_turn(row.tournament_id)
        rows = Campaign.objects.select_related("tournament__leaderboard")
        return rows.filter(pk=row.pk).first()

    def perform_act(self, chosen: ConfirmedRow[Campaign]) -> str:
        """Cancel what is open, note it as the API does, and write how it ended."""
        row = chosen.row
        touched = change_with_audit(
            row.tournament,
            "cancel",
            partial(tournaments.cancel_tournament, now=chosen.now),
            actor=chosen.actor,
            reason=chosen.values["reason"],
            now=chosen.now,
        )
        if touched is None:
            raise ConflictError("it is over: its verdict is being written")
        # Cancelling changed its row: judged as it stands in the database now.
        row.tournament.refresh_from_db()
        judging.judge_campaign(row, now=chosen.now)
        return (
            f"{row.tournament} is stopped, and {several_matches(touched['n_cancelled'])} cancelled"
        )


class Acknowledge(Act[Alarm]):
    """Have looked at an alarm."""

    name, title, icon = "acknowledge", "Acknowledge", "done_all"
    permission = "matches.change_alarm"
    question = "Acknowledge alarms?"
    consequence = "Pages show them no more; they stay in this list. This cannot be undone."
    form = ReasonForm

    def preview_effect(self, chosen: ChosenRow[Alarm]) -> Effect:
        row = chosen.row
        if row.acknowledged_at is not None:
            return refuse_act(f"{row.acknowledged_by} has acknowledged it")
        return Effect(f"raised {row.at:%Y-%m-%d %H:%M} UTC by {row.campaign.tournament}")

    def perform_act(self, chosen: ConfirmedRow[Alarm]) -> str:
        reason = chosen.values["reason"]
        if watching.acknowledge_alarm(
            chosen.row, actor=chosen.actor, now=chosen.now, reason=reason
        ):
            return f"{chosen.row} is acknowledged"
        raise ConflictError(f"{chosen.row}: somebody else was first")


ACTS = (Stop(),)
ALARM_ACTS = (Acknowledge(),)
