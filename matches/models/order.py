"""Match orders: the chunks of matches that are sent to workers."""

import uuid

from django.db import models
from django.db.models.expressions import RawSQL

from matches.models.choices import is_in_state
from matches.models.tournament import Tournament


class Order(models.Model):
    """A chunk of matches of one tournament, published once."""

    class State(models.TextChoices):
        """QUEUED -> PLAYING -> CLOSED | LOST."""

        QUEUED = "queued"
        PLAYING = "playing"
        CLOSED = "closed"
        LOST = "lost"

    OPEN = (State.QUEUED, State.PLAYING)

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE)
    # Of the longest name of a node, 60 characters, with what stands before it.
    queue = models.CharField(max_length=80)
    n_matches = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    node = models.CharField(max_length=200, blank=True)
    incarnation = models.CharField(max_length=200, blank=True)
    executing = models.JSONField(
        default=list, help_text="Matches begun and not ended, by the node's last report."
    )
    servers = models.JSONField(
        default=dict,
        db_default={},
        help_text="Of a game that game servers play: its matches that have not ended, by server.",
    )
    safe_at_s = models.JSONField(
        default=list,
        db_default=[],
        help_text="Since when each of the executing is at risk, in seconds after the start.",
    )
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    deadline_at = models.DateTimeField(help_text="Given up when no report moves it.")
    hard_deadline_at = models.DateTimeField(null=True, help_text="No report moves it past this.")
    missed_at = models.DateTimeField(
        null=True, help_text="When its queue was first seen empty though nobody had started it."
    )
    closed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            # Query: open orders of a queue (cap of the relay) and those past their deadline.
            models.Index(
                fields=("queue", "deadline_at"),
                condition=models.Q(state__in=("queued", "playing")),
                name="order_open",
            ),
        )

    def __str__(self) -> str:
        return f"order {self.pk} ({self.state})"

    @classmethod
    def is_open(cls) -> RawSQL:
        """Return the condition of the index order_open."""
        return is_in_state("matches_order", cls.OPEN)
