"""The form of an act: what it asks, what it touches, and the service that does it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, ClassVar, Generic, TypeVar

from django import forms
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminTextInputWidget

from matches.store import auditing
from matches.store.auditing import MAX_REASON, Actor

Row = TypeVar("Row", bound=Model)
FormValues = Mapping[str, Any]
Changed = tuple[str, dict[str, Any]]
"""What was done, in words and as names and counts for the audit."""
Offered = Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse]


@dataclass(frozen=True)
class Effect:
    """What an act would do to one row."""

    says: str
    """The consequence in words; of a refusal, why nothing can be done."""
    is_refused: bool = False
    seen: str = ""
    """The state that the words are about: when it has changed, the user is asked anew."""
    n: int = 0
    """How many of what the act counts it touches."""

    @property
    def mark(self) -> str:
        """What stands for the state that the user saw."""
        # Sent with the form: short, and it tells nobody what the state was.
        return sha256(self.seen.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ChosenRow(Generic[Row]):
    """A row that was chosen, and the time."""

    row: Row
    now: datetime


@dataclass(frozen=True)
class ConfirmedRow(ChosenRow[Row]):
    """A row that something is to be done to: what was entered in the form, and by whom."""

    values: FormValues
    actor: Actor


def refuse_act(says: str) -> Effect:
    """Return that nothing can be done, and why."""
    return Effect(says, is_refused=True)


class NothingMoreForm(forms.Form):
    """The confirmation alone."""


class ReasonForm(forms.Form):
    """The confirmation, and why: it stays in the audit."""

    reason = forms.CharField(
        max_length=MAX_REASON,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="Stays in the audit, for whoever asks later.",
    )


class Act(ABC, Generic[Row]):
    """Something that an operator does to rows of one model, one transaction for each."""

    name: ClassVar[str]
    """Its place in the address, such as pause."""
    title: ClassVar[str]
    """On its button: Pause."""
    question: ClassVar[str]
    """Above the page that asks: Pause tournaments?"""
    consequence: ClassVar[str]
    """What follows in general, and whether it can be undone."""
    counts: ClassVar[str] = ""
    """What Effect.n counts, such as open matches."""
    form: ClassVar[type[forms.Form]] = NothingMoreForm
    permission: ClassVar[str]
    """Such as matches.change_tournament."""
    is_grave: ClassVar[bool] = False
    """It cannot be undone."""
    takes_many: ClassVar[bool] = True
    icon: ClassVar[str] = "arrow_forward"

    @property
    def button(self) -> str:
        """Return what confirms: it must not be mistaken for the way back, as Cancel would."""
        return self.question.rstrip("?")

    @abstractmethod
    def preview_effect(self, chosen: ChosenRow[Row]) -> Effect:
        """Return what would happen to a row; changes nothing."""

    @abstractmethod
    def perform_act(self, chosen: ConfirmedRow[Row]) -> str:
        """Do it by its service, leave its audit row, and return what was done in words.

        Raises BadInputError or ConflictError.
        """

    def lock_row(self, row: Row) -> Row | None:
        """Return the row, locked so that a second answer waits; None if it is gone."""
        locked = type(row)._default_manager.select_for_update()
        return locked.filter(pk=row.pk).first()

    def initial_values(self, row: Row) -> dict[str, Any]:  # noqa: ARG002 - for those that propose
        """Return what the form proposes when one row is chosen."""
        return {}

    def is_allowed(self, user: User | AnonymousUser) -> bool:
        """Return whether a user may do it."""
        return user.has_perm(self.permission)


class NotedAct(Act[Row]):
    """An act whose service leaves no audit row: it is left here, in the same transaction."""

    def perform_act(self, chosen: ConfirmedRow[Row]) -> str:
        """Do it and note it."""
        sentence, touched = self.change_row(chosen)
        auditing.add_audit_row(
            f"{chosen.row._meta.model_name}.{self.name}",
            actor=chosen.actor,
            targets=[chosen.row],
            reason=chosen.values.get("reason", ""),
            touched=touched,
            now=chosen.now,
        )
        return sentence

    @abstractmethod
    def change_row(self, chosen: ConfirmedRow[Row]) -> Changed:
        """Do it, and return what was done."""
