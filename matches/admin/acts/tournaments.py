"""What an operator does with tournaments."""

from typing import Any, ClassVar

from django import forms
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from matches.admin.acts.base import (
    Changed,
    Chosen,
    Confirmed,
    Effect,
    NotedAct,
    ReasonForm,
    refuse_act,
)
from matches.ledger import tournaments
from matches.models import Tournament
from matches.models.tournament import MAX_MATCHES
from matches.store import selectors

_STATES = Tournament.State


class TournamentAct(NotedAct[Tournament]):
    """An act on tournaments: whoever may change them may do it."""

    permission = "matches.change_tournament"


class Resume(TournamentAct):
    """Start what waits to be started, go on with what was paused."""

    name, title, icon = "resume", "Start or resume", "play_arrow"
    question = "Start or resume tournaments?"
    consequence = "Control goes on sending their matches. Pausing them again undoes it."
    counts = "matches to be played"

    def preview_effect(self, chosen: Chosen[Tournament]) -> Effect:
        """Return how many matches would go on."""
        row = chosen.row
        if row.state != _STATES.PAUSED:
            return refuse_act(f"it is {row.state}, not paused")
        left = selectors.read_progress(row).pending
        verb = "goes on" if row.n_planned else "starts"
        return Effect(f"{verb} with {several_matches(left)} on {row.leaderboard}", n=left)

    def change_row(self, chosen: Confirmed[Tournament]) -> Changed:
        row = chosen.row
        tournaments.resume_tournament(row, now=chosen.now)
        return f"{row} goes on", {}


class Pause(TournamentAct):
    """Send no more matches."""

    name, title, icon = "pause", "Pause", "pause"
    question = "Pause tournaments?"
    consequence = (
        "No more of their matches are sent; those under way are played to their end and count. "
        "Resuming them undoes it."
    )
    counts = "matches that wait"

    def preview_effect(self, chosen: Chosen[Tournament]) -> Effect:
        """Return how many matches would wait."""
        row = chosen.row
        if row.state in (*Tournament.OVER, _STATES.PAUSED):
            return refuse_act(f"it is {row.state} already")
        left = selectors.read_progress(row).pending
        return Effect(f"{row.state}: {several_matches(left)} of {row.n_matches:,} left", n=left)

    def change_row(self, chosen: Confirmed[Tournament]) -> Changed:
        row = chosen.row
        tournaments.pause_tournament(row)
        return f"{row} is paused", {}


class Cancel(TournamentAct):
    """End a tournament before its end."""

    name, title, icon = "cancel", "Cancel", "cancel"
    question = "Cancel tournaments?"
    consequence = (
        "Matches that are not closed are cancelled, and results that come for them later are "
        "refused. Matches that are closed stay counted. This cannot be undone."
    )
    counts = "open matches"
    form = ReasonForm
    is_grave = True

    def preview_effect(self, chosen: Chosen[Tournament]) -> Effect:
        """Return how many matches would be cancelled."""
        row = chosen.row
        if row.state in Tournament.OVER:
            return refuse_act(f"it is {row.state} already")
        left = selectors.read_progress(row).pending
        total = f"{row.n_matches:,} on {row.leaderboard}"
        return Effect(
            f"{several_matches(left)} of {total} would be cancelled", n=left, seen=_size(row)
        )

    def change_row(self, chosen: Confirmed[Tournament]) -> Changed:
        row = chosen.row
        n_cancelled = tournaments.cancel_tournament(row, now=chosen.now)
        said = f"{row} is cancelled, and {several_matches(n_cancelled)} of it"
        return said, {"n_cancelled": n_cancelled}


class ExtendForm(forms.Form):
    """How many matches in all."""

    n_matches = forms.IntegerField(
        label="Matches in all",
        min_value=1,
        max_value=MAX_MATCHES,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="With those that were played; more than it has now.",
    )


class Extend(TournamentAct):
    """Let a tournament play more."""

    name, title, icon = "extend", "Extend", "add"
    question = "Extend tournaments?"
    consequence = (
        "They are planned further, up to so many matches in all; one that is done goes on. "
        "This cannot be undone: cancelling what is open is the only way to end them earlier."
    )
    form: ClassVar[type[forms.Form]] = ExtendForm

    def preview_effect(self, chosen: Chosen[Tournament]) -> Effect:
        """Return how many matches it has now."""
        row = chosen.row
        if row.state == _STATES.CANCELLED:
            return refuse_act("it is cancelled: schedule a new one")
        return Effect(
            f"{row.state}: has {several_matches(row.n_matches)} now",
            seen=_size(row),
        )

    def initial_values(self, row: Tournament) -> dict[str, Any]:
        return {"n_matches": row.n_matches}

    def change_row(self, chosen: Confirmed[Tournament]) -> Changed:
        row = chosen.row
        before = row.n_matches
        tournaments.extend_tournament(row, chosen.values["n_matches"])
        n_matches = chosen.values["n_matches"]
        said = f"{row} has {n_matches:,} matches in all now, {before:,} before"
        return said, {"n_matches": n_matches, "n_before": before}


def several_matches(n: int) -> str:
    """Return 1 match, 2 matches."""
    return f"{n:,} match" if n == 1 else f"{n:,} matches"


def _size(row: Tournament) -> str:
    return f"{row.n_matches}"


ACTS = (Resume(), Pause(), Extend(), Cancel())
