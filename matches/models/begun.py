"""How far matches have come that have not ended."""

from django.db import models

from matches.models.match import Match


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
