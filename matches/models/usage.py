"""What the system did and what it cost: by minute, by tournament and day, by class of machine."""

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


class NodeRun(models.Model):
    """One process of a play node from its first sign of life to its last: what is paid for."""

    node = models.CharField(max_length=200)
    incarnation = models.CharField(max_length=200)
    machine_class = models.CharField(
        max_length=60, blank=True, help_text="Its label class, such as spot; empty: it has none."
    )
    price = models.FloatField(null=True, help_text="Of an hour, as its labels or settings say.")
    slots = models.PositiveIntegerField()
    began_at = models.DateTimeField()
    heard_at = models.DateTimeField()
    ended_at = models.DateTimeField(
        null=True, help_text="When it was heard of last, if it is gone."
    )
    busy_s = models.FloatField(default=0, help_text="Of that time: with an order in play.")

    class Meta:
        ordering = ("-id",)
        constraints = (
            # Also the index of the query: the run of an order.
            models.UniqueConstraint(fields=("node", "incarnation"), name="node_run_once"),
        )
        indexes = (
            # Query: the newest runs of a class.
            models.Index(fields=("machine_class", "-id"), name="node_run_by_class"),
            # Query: those that have fallen silent.
            models.Index(
                fields=("heard_at",), condition=models.Q(ended_at=None), name="node_run_alive"
            ),
        )

    def __str__(self) -> str:
        return f"{self.node} since {self.began_at:%Y-%m-%d %H:%M}"


class NodeCost(models.Model):
    """What the orders of a tournament took of nodes of one class."""

    tournament = models.ForeignKey(
        Tournament, on_delete=models.CASCADE, db_index=False, related_name="node_costs"
    )
    machine_class = models.CharField(max_length=60, blank=True)
    node_s = models.FloatField(default=0, help_text="Seconds of nodes with an order of it.")
    priced_s = models.FloatField(default=0, help_text="Of these: of nodes with a known price.")
    money = models.FloatField(default=0, help_text="What these cost.")
    thrown_s = models.FloatField(
        default=0, help_text="Slot-seconds played that no result came of, and no attempt goes on."
    )

    class Meta:
        ordering = ("machine_class",)
        constraints = (
            # Also the index of the query: the classes of a tournament.
            models.UniqueConstraint(
                fields=("tournament", "machine_class"), name="cost_of_a_class_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.node_s:.0f} node-seconds on {self.machine_class or 'no class'}"
