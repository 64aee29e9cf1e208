"""Quarantine and release, of whatever can be held back."""

from abc import abstractmethod
from typing import TypeVar

from matches.admin.acts.base import Act, Chosen, Effect, ReasonForm, refuse_act
from matches.models import Agent, Worker
from matches.store.explanation import format_ago

Held = TypeVar("Held", Agent, Worker)


class QuarantineAct(Act[Held]):
    """Hold a row back."""

    name, title, icon = "quarantine", "Quarantine", "shield"
    form = ReasonForm

    def preview_effect(self, chosen: Chosen[Held]) -> Effect:
        """Return what it would stop."""
        row = chosen.row
        if row.quarantined_at is not None:
            return refuse_act(f"it is in quarantine: {row.quarantine_reason}")
        return self.preview_stop(chosen)

    @abstractmethod
    def preview_stop(self, chosen: Chosen[Held]) -> Effect:
        """Return what it would stop of a row that is not held back."""


class ReleaseAct(Act[Held]):
    """Let a row in again."""

    name, title, icon = "release", "Release", "lock_open"
    form = ReasonForm

    def preview_effect(self, chosen: Chosen[Held]) -> Effect:
        """Return why it was held back."""
        row = chosen.row
        if row.quarantined_at is None:
            return refuse_act("it is not in quarantine")
        since = format_ago(row.quarantined_at, now=chosen.now)
        says = f"in quarantine, put there{since}: {row.quarantine_reason}"
        return Effect(says, seen=f"{row.quarantined_at}")
