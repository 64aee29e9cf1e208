"""Matches of game servers that are played again here, to see whether the server told the truth."""

from django.db import models

from matches.models.match import Match


class ReplayCheck(models.Model):
    """A match that was chosen to be played again by our own rules; gone once that was done."""

    # The key, too: a look takes the oldest first.
    match = models.OneToOneField(
        Match, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    server = models.CharField(max_length=200)

    def __str__(self) -> str:
        return f"match {self.match_id} of {self.server}"
