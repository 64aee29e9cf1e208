"""Quarantine and release, of whatever can be held back."""

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar

from matches.admin.acts.base import Act, ChosenRow, ConfirmedRow, Effect, ReasonForm, refuse_act
from matches.models import Agent, Worker
from matches.store.formats import format_ago

Held = TypeVar("Held", Agent, Worker)


class HoldingAct(Act[Held]):
    """What holds a row back or lets it in: a service that takes the row and the reason."""

    form = ReasonForm
    service: ClassVar[Callable[..., object]]
    becomes: ClassVar[str]
    """What the row is or does then."""

    def perform_act(self, chosen: ConfirmedRow[Held]) -> str:
        """Let the service do it."""
        reason = chosen.values["reason"]
        type(self).service(chosen.row, actor=chosen.actor, reason=reason, now=chosen.now)
        return f"{chosen.row} {self.becomes}"


class QuarantineAct(HoldingAct[Held]):
    """Hold a row back."""

    name, title, icon = "quarantine", "Quarantine", "shield"
    becomes = "is in quarantine"

    def preview_effect(self, chosen: ChosenRow[Held]) -> Effect:
        """Return what it would stop."""
        row = chosen.row
        if row.quarantined_at is not None:
            return refuse_act(f"it is in quarantine: {row.quarantine_reason}")
        return self.preview_stop(chosen)

    @abstractmethod
    def preview_stop(self, chosen: ChosenRow[Held]) -> Effect:
        """Return what it would stop of a row that is not held back."""


class ReleaseAct(HoldingAct[Held]):
    """Let a row in again."""

    name, title, icon = "release", "Release", "lock_open"
    becomes = "may play again"

    def preview_effect(self, chosen: ChosenRow[Held]) -> Effect:
        """Return why it was held back."""
        row = chosen.row
        if row.quarantined_at is None:
            return refuse_act("it is not in quarantine")
        since = format_ago(row.quarantined_at, now=chosen.now)
        says = f"in quarantine, put there{since}: {row.quarantine_reason}"
        return Effect(says, seen=f"{row.quarantined_at}")
