"""What the system did and what it cost: a row a minute, and a row per tournament and day."""

from django.db import models

from matches.models.tournament import Tournament


class SystemMinute(models.Model):
    """How busy the system was in one minute; a minute in which control was away has no row."""

    at = models.DateTimeField(unique=True, help_text="When the minute began.")
    matches_per_s = models.FloatField()
    n_waiting = models.PositiveIntegerField(help_text="Messages in the queues, the most.")
    rows_per_forward = models.FloatField()
    n_slots = models.PositiveIntegerField(help_text="Matches that could be played at once.")

    class Meta:
        ordering = ("at",)

    def __str__(self) -> str:
        return f"minute {self.at:%Y-%m-%d %H:%M}"


class DayCost(models.Model):
    """What a tournament cost on one day (UTC): core-seconds, GPU-seconds; failed attempts too."""

    tournament = models.ForeignKey(
        Tournament, on_delete=models.CASCADE, db_index=False, related_name="day_costs"
    )
    day = models.DateField()
    n_matches = models.PositiveIntegerField(default=0)
    core_s = models.FloatField(default=0)
    gpu_s = models.FloatField(default=0, help_text="Steps times the measured cost of a row.")

    class Meta:
        ordering = ("day", "tournament")
        constraints = (
            # Also the index of the query: what was booked of a tournament.
            models.UniqueConstraint(fields=("tournament", "day"), name="cost_of_a_day_once"),
        )
        indexes = (
            # Query: what the newest days cost.
            models.Index(fields=("day",), name="cost_by_day"),
        )

    def __str__(self) -> str:
        return f"{self.core_s:.0f} core-seconds on {self.day}"
