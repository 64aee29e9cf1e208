"""Releases: each version of a run's policy, and what has become of it."""

from django.db import models

from experience.models.training_run import TrainingRun
from matches.models import Agent, Campaign


class Release(models.Model):
    """A published version of a run's policy: its sealed weights, in the storage "training"."""

    class State(models.TextChoices):
        """SNAPSHOT -> EXPIRED | CANDIDATE -> RELEASED | HELD -> RETIRED.

        A snapshot is for clients that play to train it; expired is an older one, whose file is
        deleted; a candidate is judged; released is one not worse than its best ancestor by more
        than the margin, held one that is worse or was not judged; retired was withdrawn.
        """

        SNAPSHOT = "snapshot"
        EXPIRED = "expired"
        CANDIDATE = "candidate"
        RELEASED = "released"
        HELD = "held"
        RETIRED = "retired"

    run = models.ForeignKey(TrainingRun, on_delete=models.CASCADE, related_name="releases")
    version = models.PositiveIntegerField()
    sha256 = models.CharField("SHA-256", max_length=64)
    n_bytes = models.PositiveBigIntegerField("bytes")
    n_steps = models.PositiveBigIntegerField("steps", help_text="Learned from by then.")
    metrics = models.JSONField(default=dict)
    architecture = models.CharField(max_length=200)
    parameters = models.JSONField(default=dict, help_text="Of the architecture.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.SNAPSHOT)
    reason = models.CharField(max_length=500, blank=True, help_text="Why it has this state.")
    agent = models.ForeignKey(Agent, null=True, on_delete=models.PROTECT, related_name="+")
    campaign = models.ForeignKey(Campaign, null=True, on_delete=models.PROTECT, related_name="+")
    n_downloads = models.PositiveBigIntegerField("downloads", default=0)
    created_at = models.DateTimeField()
    judged_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=("run", "version"), name="release_version_once"),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=("snapshot", "expired", "candidate", "released", "held", "retired")
                ),
                name="release_state_is_known",
            ),
        )
        indexes = (
            # Query: the newest release of a run in some state.
            models.Index(fields=("run", "state", "version"), name="release_state"),
        )

    def __str__(self) -> str:
        return f"version {self.version} of {self.run}"

    @property
    def path(self) -> str:
        """Its name in the storage."""
        return f"{self.run.name}/{self.sha256}"
