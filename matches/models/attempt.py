"""Attempts: every try at playing a match and how it ended, and how far open matches have come."""

from django.db import models
from django.db.models.expressions import RawSQL

from matches.models.choices import is_in_state
from matches.models.match import Match

_BOOLEAN = models.BooleanField()


class Attempt(models.Model):
    """One try at a match that has ended; a match that waits or runs has one more under way."""

    class Ending(models.TextChoices):
        """How it ended. Only done and forfeit close the match with an outcome."""

        DONE = "done"
        FORFEIT = "forfeit"
        FAILED = "failed"
        INTERRUPTED = "interrupted"
        EXPIRED = "expired"

    NOT_DONE = (Ending.FORFEIT, Ending.FAILED, Ending.INTERRUPTED, Ending.EXPIRED)

    # Without an index of its own: that of the constraint begins with the match.
    match = models.ForeignKey(
        Match, on_delete=models.CASCADE, db_index=False, related_name="attempts"
    )
    number = models.PositiveSmallIntegerField()
    ending = models.CharField(max_length=12, choices=Ending.choices)
    reason = models.CharField(max_length=20, blank=True)
    seat = models.SmallIntegerField(default=-1, help_text="Seat at fault; -1 for the platform.")
    detail = models.CharField(max_length=500, blank=True)
    node = models.CharField(max_length=200, blank=True)
    server = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="The game server that played it; empty where the node did.",
    )
    was_executing = models.BooleanField(default=True)
    n_steps = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveIntegerField(default=0)
    ended_at = models.DateTimeField()

    class Meta:
        ordering = ("number",)
        constraints = (
            # Also the index of the query: the attempts of a match.
            models.UniqueConstraint(fields=("match", "number"), name="attempt_ends_once"),
        )
        indexes = (
            # Query: the attempts that ended so, newest first; most are done and cost nothing.
            models.Index(
                fields=("ending", "id"),
                condition=models.Q(ending__in=("forfeit", "failed", "interrupted", "expired")),
                name="attempt_not_done",
            ),
            # Query: the newest attempts that a game server played; those of nodes cost nothing.
            models.Index(
                fields=("server", "id"),
                condition=~models.Q(server=""),
                name="attempt_of_server",
            ),
        )

    def __str__(self) -> str:
        return f"attempt {self.number}: {self.ending} {self.reason}".rstrip()

    @classmethod
    def is_not_done(cls) -> RawSQL:
        """Return the condition of the index attempt_not_done."""
        return is_in_state("matches_attempt", cls.NOT_DONE, column="ending")

    @classmethod
    def is_served(cls, table: str = "matches_attempt") -> RawSQL:
        """Return the condition of the index attempt_of_server."""
        # In literals, as in is_in_state.
        return RawSQL(f'NOT ("{table}"."server" = \'\')', [], output_field=_BOOLEAN)


class BegunMatch(models.Model):
    """What was played in a match by its last attempts: the next one goes on from there.

    The row goes when the match is over, so the table stays as small as what lasts long.
    """

    match = models.OneToOneField(
        Match, primary_key=True, on_delete=models.CASCADE, related_name="begun"
    )
    attempt = models.PositiveSmallIntegerField(help_text="Which attempt came so far.")
    n_actions = models.PositiveIntegerField()
    actions = models.TextField()

    def __str__(self) -> str:
        return f"{self.n_actions} actions of match {self.match_id}"
