"""What was won in each tournament: its own matches alone, where ratings count leaderboards.

Counted behind the results (matches.ratings.tournament_counts), so the recorder writes none of it.
"""

from django.db import models

from matches.models.agent import Agent
from matches.models.tournament import Tournament


class TournamentCount(models.Model):
    """How far the matches of a tournament are counted, in planned order."""

    tournament = models.OneToOneField(
        Tournament, primary_key=True, on_delete=models.CASCADE, related_name="counted"
    )
    up_to_sequence = models.PositiveBigIntegerField(
        default=0, help_text="All of its matches up to this place are closed and counted."
    )
    n_matches = models.PositiveIntegerField(default=0, help_text="Of those, with an outcome.")

    def __str__(self) -> str:
        return f"{self.n_matches} matches counted up to {self.up_to_sequence}"


class EntrantCount(models.Model):
    """How an agent's matches of a tournament ended, as far as they are counted."""

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    n_wins = models.PositiveIntegerField(default=0)
    n_draws = models.PositiveIntegerField(default=0)
    n_losses = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = (
            # Also the index of the query: the standings of a tournament.
            models.UniqueConstraint(fields=("tournament", "agent"), name="entrant_is_counted_once"),
        )

    def __str__(self) -> str:
        return f"{self.n_wins}-{self.n_draws}-{self.n_losses}"


class MeetingCount(models.Model):
    """How often two agents met in a tournament, by who sat first, as far as it is counted."""

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, db_index=False)
    first = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    second = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="+")
    n_first_wins = models.PositiveIntegerField(default=0)
    n_draws = models.PositiveIntegerField(default=0)
    n_second_wins = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = (
            # Also the index of the query: who beat whom among some agents of a tournament.
            models.UniqueConstraint(
                fields=("tournament", "first", "second"), name="meeting_is_counted_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.n_first_wins}-{self.n_draws}-{self.n_second_wins}"
