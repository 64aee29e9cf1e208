"""What an operator does with tournaments."""

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from django import forms
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from matches.admin.acts.base import Act, ChosenRow, ConfirmedRow, Effect, ReasonForm, refuse_act
from matches.errors import ConflictError
from matches.ledger import tournaments
from matches.ledger.noted_changes import change_with_audit
from matches.models import Tournament
from matches.models.tournament import MAX_MATCHES
from matches.store import selectors
from matches.store.locks import take_turn

_STATES = Tournament.State


class TournamentAct(Act[Tournament]):
    """An act on tournaments: whoever may change them may do it."""

    permission = "matches.change_tournament"

    def lock_row(self, row: Tournament) -> Tournament | None:
        """Return the tournament as it is now; its own row is locked after its orders."""
        take_turn(row.pk)
        return Tournament.objects.filter(pk=row.pk).first()

    def perform_act(self, chosen: ConfirmedRow[Tournament]) -> str:
        """Do it and note it, as the API does."""
        reason = chosen.values.get("reason", "")
        change = partial(self.change_tournament, chosen=chosen)
        touched = change_with_audit(
            chosen.row, self.name, change, actor=chosen.actor, reason=reason, now=chosen.now
        )
        if touched is None:
            raise ConflictError("it is as it was: somebody else was first")
        return self.describe_change(chosen.row, touched)

    @abstractmethod
    def change_tournament(
        self, tournament: Tournament, *, chosen: ConfirmedRow[Tournament]
    ) -> object:
        """Do it by its service."""

    @abstractmethod
    def describe_change(self, row: Tournament, touched: Mapping[str, Any]) -> str:
        """Return what was done in words. row: as it was before."""


class Resume(TournamentAct):
    """Start what waits to be started, go on with what was paused."""

    name, title, icon = "resume", "Start or resume", "play_arrow"
    question = "Start or resume tournaments?"
    consequence = "Control goes on sending their matches. Pausing them again undoes it."
    counts = "matches to be played"

    def preview_effect(self, chosen: ChosenRow[Tournament]) -> Effect:
        """Return how many matches would go on."""
        row = chosen.row
        if row.state != _STATES.PAUSED:
            return refuse_act(f"it is {row.state}, not paused")
        left = selectors.read_progress(row).pending
        verb = "goes on" if row.n_planned else "starts"
        return Effect(f"{verb} with {several_matches(left)} on {row.leaderboard}", n=left)

    def change_tournament(
        self, tournament: Tournament, *, chosen: ConfirmedRow[Tournament]
    ) -> object:
        return tournaments.resume_tournament(tournament, now=chosen.now)

    def describe_change(self, row: Tournament, _: Mapping[str, Any]) -> str:
        return f"{row} goes on"


class Pause(TournamentAct):
    """Send no more matches."""

    name, title, icon = "pause", "Pause", "pause"
    question = "Pause tournaments?"
    consequence = (
        "No more of their matches are sent; those under way are played to their end and count. "
        "Resuming them undoes it."
    )
    counts = "matches that wait"

    def preview_effect(self, chosen: ChosenRow[Tournament]) -> Effect:
        """Return how many matches would wait."""
        row = chosen.row
        if row.state in (*Tournament.OVER, _STATES.PAUSED):
            return refuse_act(f"it is {row.state} already")
        left = selectors.read_progress(row).pending
        return Effect(f"{row.state}: {several_matches(left)} of {row.n_matches:,} left", n=left)

    def change_tournament(self, tournament: Tournament, **_: object) -> object:
        return tournaments.pause_tournament(tournament)

    def describe_change(self, row: Tournament, _: Mapping[str, Any]) -> str:
        return f"{row} is paused"


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

    def preview_effect(self, chosen: ChosenRow[Tournament]) -> Effect:
        """Return how many matches would be cancelled."""
        row = chosen.row
        if row.state in Tournament.OVER:
            return refuse_act(f"it is {row.state} already")
        left = selectors.read_progress(row).pending
        total = f"{row.n_matches:,} on {row.leaderboard}"
        return Effect(
            f"{several_matches(left)} of {total} would be cancelled", n=left, seen=_format_size(row)
        )

    def change_tournament(
        self, tournament: Tournament, *, chosen: ConfirmedRow[Tournament]
    ) -> object:
        return tournaments.cancel_tournament(tournament, now=chosen.now)

    def describe_change(self, row: Tournament, touched: Mapping[str, Any]) -> str:
        return f"{row} is cancelled, and {several_matches(touched['n_cancelled'])} of it"


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

    def preview_effect(self, chosen: ChosenRow[Tournament]) -> Effect:
        """Return how many matches it has now."""
        row = chosen.row
        if row.state == _STATES.CANCELLED:
            return refuse_act("it is cancelled: schedule a new one")
        return Effect(
            f"{row.state}: has {several_matches(row.n_matches)} now",
            seen=_format_size(row),
        )

    def initial_values(self, row: Tournament) -> dict[str, Any]:
        return {"n_matches": row.n_matches}

    def change_tournament(
        self, tournament: Tournament, *, chosen: ConfirmedRow[Tournament]
    ) -> object:
        return tournaments.extend_tournament(tournament, chosen.values["n_matches"])

    def describe_change(self, row: Tournament, touched: Mapping[str, Any]) -> str:
        n_matches, n_before = touched["n_matches"], touched["n_before"]
        return f"{row} has {n_matches:,} matches in all now, {n_before:,} before"


def several_matches(n: int) -> str:
    """Return 1 match, 2 matches."""
    return f"{n:,} match" if n == 1 else f"{n:,} matches"


def _format_size(row: Tournament) -> str:
    return f"{row.n_matches}"


ACTS = (Resume(), Pause(), Extend(), Cancel())
