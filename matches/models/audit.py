"""What people and control have changed, by whom and why: rows that are only added."""

from typing import Any, ClassVar

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from matches.models.append_only import LastingModel


class AuditRow(LastingModel):
    """One act on one thing; written in the transaction of the act, never changed or deleted."""

    what: ClassVar[str] = "an audit row"

    at = models.DateTimeField()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Empty for control, and for a user who is no more.",
    )
    actor = models.CharField(max_length=150, help_text="Who did it, as it was called then.")
    token = models.CharField(
        max_length=100,
        default="",
        db_default="",
        help_text="Name of the API token that it was done with; empty: without one.",
    )
    action = models.CharField(max_length=60, help_text="Such as agent.quarantine.")
    target_kind = models.CharField(max_length=30, help_text="Such as agent.")
    target_id = models.BigIntegerField(null=True, help_text="Empty: all of them.")
    target_label = models.CharField(max_length=200, help_text="Its name then.")
    reason = models.CharField(max_length=500, blank=True)
    touched = models.JSONField(
        default=dict, encoder=DjangoJSONEncoder, help_text="What was changed: names and counts."
    )

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "audit"
        indexes = (
            # Query: what was done to a thing, newest first.
            models.Index(fields=("target_kind", "target_id", "-id"), name="audit_of_target"),
            # Query: the acts of a kind, newest first.
            models.Index(fields=("action", "-id"), name="audit_of_action"),
        )

    def __str__(self) -> str:
        return f"{self.actor}: {self.action} {self.target_label}"

    def touched_line(self) -> str:
        """Return what was touched, in one line."""
        touched: dict[str, Any] = self.touched
        return ", ".join(_describe_touched(*item) for item in touched.items())


def _describe_touched(name: str, value: object) -> str:
    words = name.removeprefix("n_").replace("_", " ")
    value = "no" if value is None else value
    return f"{value} {words}" if name.startswith("n_") else f"{words} {value}"
