"""Alarms: a checkpoint that is probably worse than what it was trained from."""

from django.db import models

from matches.models.agent import Agent
from matches.models.campaign import Campaign


class Alarm(models.Model):
    """A regression: P(the agent is worse than its best ancestor by the margin) passed the level."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="alarms")
    ancestor = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    campaign = models.OneToOneField(Campaign, on_delete=models.PROTECT, related_name="alarm")
    probability = models.FloatField()
    margin = models.FloatField(help_text="In units of rating.")
    level = models.FloatField(help_text="The probability from which it is an alarm.")
    at = models.DateTimeField()
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=150, blank=True)

    class Meta:
        """Newest first."""

        ordering = ("-id",)
        indexes = (
            # Query: the alarms that nobody has looked at.
            models.Index(
                fields=("agent",),
                condition=models.Q(acknowledged_at=None),
                name="alarm_open",
            ),
        )

    def __str__(self) -> str:
        """Return who is worse than whom."""
        return f"{self.agent} is worse than {self.ancestor} (P {self.probability:.3f})"
