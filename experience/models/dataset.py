"""Datasets: what a query has found, as files of their own."""

from django.db import models

from experience.models.segment import Segment


class Dataset(models.Model):
    """Episodes that a query has chosen, written shard by shard; a shard is never changed."""

    class State(models.TextChoices):
        """PLANNING -> BUILDING -> READY | FAILED."""

        PLANNING = "planning"
        BUILDING = "building"
        READY = "ready"
        FAILED = "failed"

    class Source(models.TextChoices):
        """What players uploaded, or what was decided in matches."""

        EXPERIENCE = "experience"
        TRAJECTORIES = "trajectories"

    name = models.SlugField(max_length=60, unique=True)
    game = models.CharField(max_length=100)
    source = models.CharField(max_length=12, choices=Source.choices)
    query = models.JSONField(default=dict, help_text="What was asked for, names resolved.")
    shard_steps = models.PositiveIntegerField(help_text="So many steps make a file.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.PLANNING)
    problem = models.CharField(max_length=500, blank=True, help_text="Why it failed or waits.")
    n_episodes = models.PositiveBigIntegerField("episodes", default=0)
    n_steps = models.PositiveBigIntegerField("steps", default=0)
    n_steps_unfinished = models.PositiveBigIntegerField(
        default=0, help_text="Left out: of episodes of which not every step is there."
    )
    n_bytes = models.PositiveBigIntegerField("bytes", default=0)
    segments: "models.ManyToManyField[Segment, DatasetSource]" = models.ManyToManyField(
        Segment, through="DatasetSource", related_name="datasets"
    )
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    ready_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(state__in=("planning", "building", "ready", "failed")),
                name="dataset_state_is_known",
            ),
        )
        indexes = (
            # Query: what control has to build.
            models.Index(
                fields=("id",),
                condition=models.Q(state__in=("planning", "building")),
                name="dataset_to_build",
            ),
        )

    def __str__(self) -> str:
        return self.name


class DatasetSource(models.Model):
    """A segment that a dataset is built from: kept until that is done."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="sources")
    # Whoever deletes segments passes over these; the database makes sure.
    segment = models.ForeignKey(Segment, on_delete=models.PROTECT, related_name="held_by")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("dataset", "segment"), name="source_once"),)

    def __str__(self) -> str:
        return f"{self.segment_id} of {self.dataset}"


class DatasetShard(models.Model):
    """A file of a dataset, or the plan of one that is not written yet."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="shards")
    number = models.PositiveIntegerField()
    plan = models.JSONField(help_text="Which rows it takes; empty once it is written.")
    first_episode = models.PositiveBigIntegerField()
    n_episodes = models.PositiveBigIntegerField("episodes")
    n_steps = models.PositiveBigIntegerField("steps")
    n_bytes = models.PositiveBigIntegerField("bytes", default=0)
    sha256 = models.CharField("SHA-256", max_length=64, blank=True, help_text="Empty: not yet.")

    class Meta:
        ordering = ("number",)
        constraints = (
            # Also the index of the query: the shards of a dataset in their order.
            models.UniqueConstraint(fields=("dataset", "number"), name="shard_number_once"),
        )

    def __str__(self) -> str:
        return f"shard {self.number} of {self.dataset}"
