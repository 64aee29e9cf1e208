"""Training runs: what is trained, how far it is, and who may report on it now."""

from django.db import models

from arena.experience.chunks import UNKNOWN_VERSION
from experience.models.dataset import Dataset
from matches.models.choices import game_choices


class TrainingRun(models.Model):
    """A policy that trainers train slice by slice; written by services only.

    A slice is ordered under a number of its own and until a time: whoever holds the order may
    report until then, and each report extends it. After that the slice is ordered anew.
    """

    class State(models.TextChoices):
        """RUNNING -> DONE | STOPPED | FAILED."""

        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"
        FAILED = "failed"

    name = models.SlugField(max_length=60, unique=True, help_text="Also of its checkpoints.")
    game = models.CharField(max_length=60, choices=game_choices)
    algorithm = models.CharField(max_length=60)
    parameters = models.JSONField(default=dict, help_text="Of the algorithm.")
    dataset = models.ForeignKey(
        Dataset,
        null=True,
        on_delete=models.SET_NULL,
        related_name="runs",
        help_text="What it learns from; empty: uploads, or one that was deleted since.",
    )
    seed = models.PositiveBigIntegerField()
    max_steps = models.PositiveBigIntegerField(help_text="It ends once it has learned from these.")
    slice_s = models.FloatField(help_text="Seconds of one slice.")
    margin = models.FloatField(
        help_text="By how much a release may be worse than its best ancestor: in mean score of a "
        "game of one seat, else in units of rating."
    )
    release_s = models.FloatField(help_text="Seconds between two candidates for a release.")
    release_steps = models.PositiveBigIntegerField(help_text="Or so many steps.")
    budget = models.PositiveIntegerField(help_text="Matches that judging a candidate may cost.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    problem = models.CharField(max_length=500, blank=True, help_text="Why it failed.")
    token = models.CharField(max_length=64, help_text="Only who has an order of it may report.")
    n_steps = models.PositiveBigIntegerField("steps", default=0, help_text="Learned from.")
    version = models.IntegerField(default=UNKNOWN_VERSION, help_text="The latest; -1: none yet.")
    metrics = models.JSONField(default=dict, help_text="As reported last.")
    state_sha256 = models.CharField(max_length=64, blank=True, help_text="Where it goes on from.")
    slice = models.PositiveIntegerField(default=0, help_text="Slices ordered so far.")
    order = models.UUIDField(null=True, help_text="Of the slice under way.")
    reported_slice = models.PositiveIntegerField(default=0, help_text="That was reported last.")
    leased_until = models.DateTimeField(null=True)
    n_lost = models.PositiveSmallIntegerField(default=0, help_text="Slices lost in a row.")
    trainer = models.CharField(max_length=60, blank=True, help_text="Who reported last.")
    is_streamed = models.BooleanField(
        default=False, help_text="It learns from uploads, not from a dataset or matches."
    )
    has_group = models.BooleanField(default=False, help_text="Its group reads the stream.")
    is_closed = models.BooleanField(default=False, help_text="Ended, and its last version judged.")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    reported_at = models.DateTimeField(null=True, help_text="When its trainer was heard last.")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=("running", "done", "stopped", "failed")),
                name="run_state_is_known",
            ),
            # A chunk names a version and no run: two that learn at once would take each other's.
            models.UniqueConstraint(
                fields=("game",),
                condition=models.Q(state="running", has_group=True),
                name="one_run_learns_from_a_stream",
            ),
        )
        indexes = (
            # Query: the runs that wait for a slice, or whose group is to go.
            models.Index(fields=("state", "has_group"), name="run_state"),
            # Query: the runs of which a version may still be released.
            models.Index(
                fields=("id",), condition=models.Q(is_closed=False), name="run_not_closed"
            ),
        )

    def __str__(self) -> str:
        return self.name
