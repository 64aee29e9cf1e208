"""Matches that people have struck, and the matches that were played instead."""

from django.db import models

from matches.models.match import Match


class Voiding(models.Model):
    """Why people declared a match void. With an outcome it is struck: no rating counts it."""

    match = models.OneToOneField(
        Match, primary_key=True, on_delete=models.PROTECT, related_name="voiding"
    )
    at = models.DateTimeField()
    actor = models.CharField(max_length=150)
    reason = models.CharField(max_length=500)
    was_done = models.BooleanField(help_text="It had an outcome, which stays and counts no more.")

    def __str__(self) -> str:
        """Return why."""
        return f"match {self.match_id} is void: {self.reason}"


class Replacement(models.Model):
    """A match that is played in the place of a void one: same agents, seats and game seed."""

    # The key keeps it to one for each void match, whoever asks at the same time.
    replaced = models.OneToOneField(
        Match, primary_key=True, on_delete=models.PROTECT, related_name="replacement"
    )
    match = models.OneToOneField(Match, on_delete=models.PROTECT, related_name="replaces")
    at = models.DateTimeField()

    def __str__(self) -> str:
        """Return which stands for which."""
        return f"match {self.match_id} in the place of {self.replaced_id}"
