"""Checkpoints: immutable weights, named by the SHA-256 of their sealed file."""

from django.db import models

from matches.models.choices import Placement, game_choices


class Checkpoint(models.Model):
    """A sealed safetensors file and the verdict of its check; written by services only."""

    class State(models.TextChoices):
        """CHECKING -> READY | REFUSED; a refused file is deleted, its row tells why."""

        CHECKING = "checking"
        READY = "ready"
        REFUSED = "refused"

    sha256 = models.CharField("SHA-256", max_length=64, unique=True)
    game = models.CharField(max_length=60, choices=game_choices)
    architecture = models.CharField(max_length=200)
    parameters = models.JSONField(default=dict, help_text="Of the architecture.")
    run = models.CharField(max_length=100, help_text="Name of the training run or family.")
    step = models.PositiveBigIntegerField(null=True, help_text="Training step; empty: not known.")
    parent = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.PROTECT,
        to_field="sha256",
        related_name="children",
        help_text="What it was trained from.",
    )
    source_name = models.CharField(max_length=200, help_text="Name of the file that was given.")
    n_bytes = models.PositiveBigIntegerField()
    forced_placement = models.CharField(
        max_length=10, choices=Placement.choices, blank=True, help_text="Empty: as measured."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.CHECKING)
    reason = models.CharField(max_length=500, blank=True, help_text="Why it was refused.")
    n_parameters = models.PositiveBigIntegerField(null=True)
    state_size = models.PositiveIntegerField(
        default=0, help_text="Floats of recurrent state per row; 0: feed-forward."
    )
    row_ms = models.FloatField(
        null=True, help_text="Measured forward of one row on one CPU core, in milliseconds."
    )
    measured_placement = models.CharField(max_length=10, choices=Placement.choices, blank=True)
    created_at = models.DateTimeField()
    checked_at = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(null=True, help_text="When its check was last ordered.")
    n_asked = models.PositiveSmallIntegerField(default=0, help_text="How often it was ordered.")

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=("checking", "ready", "refused")),
                name="checkpoint_state_is_known",
            ),
        )
        indexes = (
            # Query: the checkpoints whose check is to be ordered, the oldest first.
            models.Index(
                fields=("id",),
                condition=models.Q(state="checking"),
                name="checkpoint_checking",
            ),
            # Query: the checkpoints of a run by step.
            models.Index(fields=("game", "run", "step"), name="checkpoint_run"),
        )

    def __str__(self) -> str:
        at_step = "" if self.step is None else f"@{self.step}"
        return f"{self.run}{at_step} ({self.sha256[:12]})"

    @property
    def placement(self) -> str:
        """Where its network runs: as forced, else as measured; empty while not known."""
        return self.forced_placement or self.measured_placement

    @property
    def path(self) -> str:
        """Its name in the storage."""
        return f"{self.sha256[:2]}/{self.sha256}.safetensors"
