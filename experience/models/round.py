"""Rounds: the matches that a version of a run plays, from which the next version learns."""

from django.db import models

from experience.models.release import Release
from matches.models import Agent, Tournament


class Round(models.Model):
    """A version that plays: registered, then checked, then playing, then learned from.

    The phase of a run is in these rows and in what they point at, so that whoever is killed leaves
    nothing to repair: agent None is a version to register, tournament None one whose matches are
    to be started, and a version after it one that has been learned from.
    """

    release = models.OneToOneField(Release, on_delete=models.CASCADE, related_name="round")
    agent = models.ForeignKey(
        Agent,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Draws its actions from the version's distribution.",
    )
    tournament = models.ForeignKey(
        Tournament, null=True, on_delete=models.PROTECT, related_name="+", help_text="Its matches."
    )
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, help_text="Learned from, or its run has ended.")

    class Meta:
        ordering = ("-id",)
        indexes = (
            # Query: the rounds that go on.
            models.Index(
                fields=("id",), condition=models.Q(ended_at__isnull=True), name="round_goes_on"
            ),
        )

    def __str__(self) -> str:
        return f"round of {self.release}"
