"""Outcomes: the append-only log that every rating is computed from."""

from django.db import models

from matches.models.leaderboard import Leaderboard
from matches.models.match import Match


class Outcome(models.Model):
    """The one result of a match; never changed, never deleted."""

    # The match is the key: of two reports of it only one can insert its outcome.

    match = models.OneToOneField(
        Match, primary_key=True, on_delete=models.PROTECT, related_name="outcome"
    )
    ranks = models.CharField(max_length=200, help_text="Rank by seat, 0 the best; equal: a draw.")
    returns = models.CharField(
        max_length=2_000,
        blank=True,
        default="",
        db_default="",
        help_text="By seat, unless forfeited.",
    )
    is_forfeit = models.BooleanField(default=False)
    guilty_seat = models.SmallIntegerField(default=-1)
    reason = models.CharField(max_length=20, blank=True)
    attempt = models.PositiveSmallIntegerField()
    actions = models.TextField(blank=True, help_text="With the game seed they replay the match.")
    trajectory = models.CharField(
        max_length=64,
        blank=True,
        db_default="",
        default="",
        help_text="SHA-256 of the piece that holds its trajectories, if they are kept.",
    )
    # In no hash, and not compared where a match is played again: on another machine they differ.
    notes = models.BinaryField(
        null=True,
        editable=False,
        help_text="Time and value of each move (arena.move_notes); a copy has none.",
    )
    recorded_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"ranks {self.ranks}"

    @property
    def result(self) -> str:
        """What tells two outcomes of one game apart: the ranks, of one seat the score."""
        return self.ranks if "," in self.ranks else self.returns


class Uncounted(models.Model):
    """An outcome that the rater has not counted, or not yet passed with the live rating's prefix.

    Rows go when the prefix passes them, so the table stays as small as what is in flight.
    """

    match = models.OneToOneField(Match, primary_key=True, on_delete=models.CASCADE)
    # Copied from the match, so that the rater finds its work in one index, without a join.
    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, db_index=False)
    sequence = models.PositiveBigIntegerField()
    is_counted = models.BooleanField(default=False)

    class Meta:
        indexes = (
            # Query: what the rater has to count and to fold, in canonical order.
            models.Index(fields=("leaderboard", "sequence"), name="uncounted_in_order"),
            # Query: those that are not counted yet, where many lie behind an open match.
            models.Index(
                fields=("leaderboard", "sequence"),
                condition=models.Q(is_counted=False),
                name="uncounted_new",
            ),
        )

    def __str__(self) -> str:
        return f"uncounted match {self.match_id}"


class ReplayCheck(models.Model):
    """A match that was chosen to be played again by our own rules; gone once that was done."""

    # The key, too: a look takes the oldest first.
    match = models.OneToOneField(
        Match, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    server = models.CharField(max_length=200)

    def __str__(self) -> str:
        return f"match {self.match_id} of {self.server}"
