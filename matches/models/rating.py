"""Ratings: written by the rater only, from the outcomes only."""

from django.db import models

from arena.ratings.base import MU, SIGMA, Z95
from matches.models.agent import Agent
from matches.models.leaderboard import Leaderboard

PRIOR_LOW, PRIOR_HIGH = MU - Z95 * SIGMA, MU + Z95 * SIGMA
"""Of an agent of which nothing is known."""


class Rating(models.Model):
    """What is known of an agent on a leaderboard."""

    # Without an index of its own: that of the constraint begins with the leaderboard.
    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, db_index=False)
    # PROTECT: an agent that has played is retired, not deleted, or others' ratings lose a cause.
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT)
    mu = models.FloatField(default=MU, help_text="Settled rating: posterior mode.")
    sd = models.FloatField(
        default=SIGMA, help_text="Its doubt, as it bears on ranks: not how far apart all are."
    )
    low = models.FloatField(
        default=PRIOR_LOW, db_default=PRIOR_LOW, help_text="Lower end of its 95 % interval."
    )
    high = models.FloatField(
        default=PRIOR_HIGH, db_default=PRIOR_HIGH, help_text="Upper end of its 95 % interval."
    )
    live_mu = models.FloatField(default=MU, help_text="TrueSkill, update by update.")
    live_sigma = models.FloatField(default=SIGMA)
    # Where the live rating goes on from; what is folded on top of it is computed again each time.
    prefix_mu = models.FloatField(default=MU, help_text="Live state at the contiguous prefix.")
    prefix_sigma = models.FloatField(default=SIGMA)
    n_matches = models.PositiveBigIntegerField(default=0)
    n_wins = models.PositiveBigIntegerField(default=0)
    n_draws = models.PositiveBigIntegerField(default=0)
    n_losses = models.PositiveBigIntegerField(default=0)
    n_forfeits = models.PositiveBigIntegerField(default=0)
    # Of one-seat games alone; a forfeit counts as the least score of the game.
    mean_score = models.FloatField(null=True, help_text="Over the game seeds it has played.")
    score_low = models.FloatField(null=True, help_text="Lower end of its 95 % interval.")
    score_high = models.FloatField(null=True, help_text="Upper end of its 95 % interval.")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("leaderboard", "agent"), name="rating_once"),
        )
        indexes = (
            # Query: the top of a leaderboard.
            models.Index(fields=("leaderboard", "-mu"), name="rating_top"),
        )

    def __str__(self) -> str:
        return f"{self.mu:.2f} ({self.low:.2f} to {self.high:.2f})"


class PairCount(models.Model):
    """How often two agents met in these seats, and how it ended: what the settled rating reads.

    Opponents only: in a game of teams, mates have none, and the rating reads TeamCount instead.
    """

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, db_index=False)
    first = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    second = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    n_first_wins = models.PositiveBigIntegerField(default=0)
    n_draws = models.PositiveBigIntegerField(default=0)
    n_second_wins = models.PositiveBigIntegerField(default=0)
    # Of those: what was played on another leaderboard and is counted as evidence there, and what a
    # time limit decided or what was imported, which says nothing where other limits hold.
    n_first_wins_copied = models.PositiveBigIntegerField(default=0, db_default=0)
    n_draws_copied = models.PositiveBigIntegerField(default=0, db_default=0)
    n_second_wins_copied = models.PositiveBigIntegerField(default=0, db_default=0)
    n_first_wins_limited = models.PositiveBigIntegerField(default=0, db_default=0)
    n_draws_limited = models.PositiveBigIntegerField(default=0, db_default=0)
    n_second_wins_limited = models.PositiveBigIntegerField(default=0, db_default=0)

    class Meta:
        # A row per ordered pair: the agent at the earlier seat is first.
        constraints = (
            models.UniqueConstraint(fields=("leaderboard", "first", "second"), name="pair_once"),
            models.CheckConstraint(
                condition=~models.Q(first=models.F("second")), name="pair_is_no_self_play"
            ),
        )

    def __str__(self) -> str:
        return f"{self.n_first_wins}-{self.n_draws}-{self.n_second_wins}"


class TeamCount(models.Model):
    """How often two line-ups of team mates met, and how it ended: what the settled rating reads."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, db_index=False)
    lead = models.ForeignKey(
        Agent, on_delete=models.PROTECT, related_name="+", help_text="Lowest id of the first side."
    )
    first_side = models.CharField(
        max_length=400, help_text="Agent ids, sorted; seats play no part."
    )
    second_side = models.CharField(
        max_length=400, help_text="The same; its lowest id is the higher."
    )
    n_first_wins = models.PositiveBigIntegerField(default=0)
    n_draws = models.PositiveBigIntegerField(default=0)
    n_second_wins = models.PositiveBigIntegerField(default=0)

    class Meta:
        # A row for every two sides.
        constraints = (
            # Its index serves the query: the sides of these leads, when counts are mended.
            models.UniqueConstraint(
                fields=("leaderboard", "lead", "first_side", "second_side"), name="sides_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.n_first_wins}-{self.n_draws}-{self.n_second_wins}"


class RatingSnapshot(models.Model):
    """All ratings of a leaderboard at a moment; at most one a minute."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, db_index=False)
    taken_at = models.DateTimeField()
    n_outcomes = models.PositiveBigIntegerField()
    results_hash = models.CharField(max_length=64)
    table = models.BinaryField(help_text="zlib of JSON rows: snapshot_tables.COLUMNS.")

    class Meta:
        indexes = (
            # Query: the history of a leaderboard, newest first.
            models.Index(fields=("leaderboard", "-taken_at"), name="snapshot_history"),
        )

    def __str__(self) -> str:
        return f"{self.leaderboard_id} at {self.taken_at:%Y-%m-%d %H:%M}"
