"""Scores of one-seat games: the episodes that count, by game seed."""

from django.db import models

from matches.models.agent import Agent
from matches.models.leaderboard import Leaderboard
from matches.models.match import Match


class Score(models.Model):
    """A counted episode: what the results of its block are made of. Written by the rater only."""

    match = models.OneToOneField(
        Match, primary_key=True, on_delete=models.CASCADE, related_name="score_row"
    )
    # The following are copied from the match, so that blocks are read without a join.
    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.CASCADE, db_index=False)
    game_seed = models.BigIntegerField()
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, db_index=False, related_name="+")
    sequence = models.PositiveBigIntegerField()
    score = models.FloatField(null=True, help_text="Empty after a forfeit, which is below all.")

    class Meta:
        indexes = (
            # Query: the blocks of the game seeds that new episodes are of.
            models.Index(fields=("leaderboard", "game_seed"), name="score_of_block"),
            # Query: the scores of an agent, and the seeds that two have in common.
            models.Index(fields=("leaderboard", "agent", "game_seed"), name="score_of_agent"),
        )

    def __str__(self) -> str:
        return f"score {self.score} of match {self.match_id}"
