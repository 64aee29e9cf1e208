"""Seasons: a leaderboard as it stood when it was frozen."""

from typing import ClassVar

from django.db import models

from matches.models.agent import Agent
from matches.models.append_only import LastingModel
from matches.models.leaderboard import Leaderboard


class Season(LastingModel):
    """The standings of a leaderboard at a moment, kept for ever."""

    what: ClassVar[str] = "a season"

    leaderboard = models.ForeignKey(
        Leaderboard, on_delete=models.PROTECT, db_index=False, related_name="seasons"
    )
    name = models.CharField(max_length=80)
    frozen_at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=500, blank=True)
    n_agents = models.PositiveIntegerField()
    n_counted = models.PositiveBigIntegerField(help_text="Outcomes behind the ratings.")
    results_hash = models.CharField(max_length=64, help_text="Of those outcomes.")
    spread = models.FloatField(null=True, help_text="Fitted sd of skill.")

    class Meta:
        ordering = ("-id",)
        constraints = (
            # Also the index of the query: the seasons of a leaderboard.
            models.UniqueConstraint(fields=("leaderboard", "name"), name="season_once"),
        )

    def __str__(self) -> str:
        return self.name


class SeasonRow(LastingModel):
    """Where an agent stood at the end of a season."""

    what: ClassVar[str] = "a row of a season"

    season = models.ForeignKey(
        Season, on_delete=models.PROTECT, db_index=False, related_name="rows"
    )
    rank = models.PositiveIntegerField()
    # All that follows is copied: ratings and names go on to change, a season does not.
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=120, help_text="Of the agent, then.")
    mu = models.FloatField(help_text="Settled rating.")
    sd = models.FloatField()
    low = models.FloatField(help_text="Lower end of its 95 % interval.")
    high = models.FloatField(help_text="Upper end of its 95 % interval.")
    live_mu = models.FloatField()
    live_sigma = models.FloatField()
    n_matches = models.PositiveBigIntegerField()
    n_wins = models.PositiveBigIntegerField()
    n_draws = models.PositiveBigIntegerField()
    n_losses = models.PositiveBigIntegerField()
    n_forfeits = models.PositiveBigIntegerField()

    class Meta:
        ordering = ("rank",)
        constraints = (
            # Also the index of the query: the rows of a season by rank.
            models.UniqueConstraint(fields=("season", "rank"), name="season_rank_once"),
        )

    def __str__(self) -> str:
        return f"{self.rank}: {self.name}"
