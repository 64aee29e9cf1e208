"""What an operator does with matches."""

from matches.admin.acts.base import Act, ChosenRow, ConfirmedRow, Effect, ReasonForm, refuse_act
from matches.ledger import voiding
from matches.models import Match, Replacement, Tournament

CHANGE = "matches.change_match"
_STATES = Match.State


class Void(Act[Match]):
    """Let a match count no more."""

    name, title, icon, permission = "void", "Declare void", "block", CHANGE
    question = "Declare matches void?"
    consequence = (
        "Matches that are open are played no more, and reports of them are refused. Outcomes stay "
        "in the log, count no more, and their leaderboards are rated again. This cannot be undone; "
        "a void match can be played again."
    )
    form = ReasonForm
    is_grave = True

    def preview_effect(self, chosen: ChosenRow[Match]) -> Effect:
        """Return what the act would change."""
        row = chosen.row
        place = f"number {row.sequence:,} of {row.tournament}"
        if row.state in (_STATES.VOID, _STATES.CANCELLED):
            return refuse_act(f"{place}: it is {row.state} already")
        if row.state == _STATES.DONE:
            rated = f" and {row.leaderboard} is rated again" if row.tournament.is_rated else ""
            return Effect(f"{place}: its outcome counts no more{rated}", seen=row.state)
        # Pending or running is the same to who voids it: it may go on while they decide.
        return Effect(f"{place}: {row.state}, is played no more", seen="open")

    def perform_act(self, chosen: ConfirmedRow[Match]) -> str:
        reason = chosen.values["reason"]
        voiding.void_matches([chosen.row.pk], actor=chosen.actor, reason=reason, now=chosen.now)
        return f"match {chosen.row.pk} is void"


class Requeue(Act[Match]):
    """Play a void match again."""

    name, title, icon, permission = "requeue", "Play again", "replay", CHANGE
    question = "Play void matches again?"
    consequence = (
        "Each gets a new match in its place: the same agents, seats and game seed, a new number. "
        "The void ones stay as they are. Declaring the new ones void undoes it."
    )
    form = ReasonForm

    def preview_effect(self, chosen: ChosenRow[Match]) -> Effect:
        """Return what is played again, or by which match it is already."""
        row = chosen.row
        if row.state != _STATES.VOID:
            return refuse_act(f"it is {row.state}: only void matches are played again")
        if row.tournament.state == Tournament.State.CANCELLED:
            return refuse_act(f"{row.tournament} is cancelled: schedule a new tournament")
        replacement = Replacement.objects.filter(replaced=row).first()
        if replacement is not None:
            return refuse_act(f"it is played again already, as match {replacement.match_id}")
        return Effect(f"number {row.sequence:,} of {row.tournament}, void: {row.void_reason}")

    def perform_act(self, chosen: ConfirmedRow[Match]) -> str:
        pk, reason = chosen.row.pk, chosen.values["reason"]
        requeued = voiding.requeue_matches([pk], actor=chosen.actor, reason=reason, now=chosen.now)
        return f"match {pk} is played again as match {requeued.replacements[pk]}"


ACTS = (Requeue(), Void())
