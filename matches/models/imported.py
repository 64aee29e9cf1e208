"""Results that were played elsewhere: a file of them counts, and is struck, as a whole.

A batch is a tournament that nobody plays: its matches are over when they are written, so all that
reads matches, outcomes and counts reads these, too. What tells them apart is the reason of their
outcomes, IMPORTED: the ratings of their own leaderboard count them, no other one takes them for
evidence, for nobody here knows how they were played.
"""

from typing import Final

from django.db import models

from matches.models.leaderboard import Leaderboard
from matches.models.match import Match
from matches.models.tournament import Tournament

IMPORTED: Final = "imported"
"""The reason of such an outcome, and the policy of an agent that is known by such results alone."""
MAX_KEY: Final = 100


class ImportBatch(models.Model):
    """One imported file of results."""

    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.PROTECT, db_index=False)
    tournament = models.OneToOneField(Tournament, on_delete=models.PROTECT, related_name="imported")
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField("SHA-256", max_length=64, help_text="Of the file as it was sent.")
    columns = models.JSONField(default=dict, help_text="The column that each part was read from.")
    n_rows = models.PositiveIntegerField(help_text="Results in the file.")
    n_known = models.PositiveIntegerField(
        default=0, help_text="Of those, here before under the same key."
    )
    n_new_agents = models.PositiveIntegerField(default=0, help_text="Agents it brought with it.")
    actor = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(
        null=True, help_text="Empty: its rows were not all written; the same file goes on."
    )
    struck_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "import batches"
        constraints = (
            # Also the index of the query: whether this file counts here already.
            models.UniqueConstraint(
                fields=("leaderboard", "sha256"),
                condition=models.Q(struck_at__isnull=True),
                name="file_is_imported_once",
            ),
        )
        indexes = (
            # Query: what was imported to a leaderboard, newest first.
            models.Index(fields=("leaderboard", "-id"), name="imports_of_board"),
        )

    def __str__(self) -> str:
        return f"import {self.pk} of {self.file_name}"

    @property
    def state(self) -> str:
        """The state of the import: importing, imported or struck."""
        if self.struck_at is not None:
            return "struck"
        return "importing" if self.finished_at is None else "imported"


class ImportedKey(models.Model):
    """By what a row of a file is known again; gone once its batch is struck."""

    match = models.OneToOneField(Match, primary_key=True, on_delete=models.PROTECT)
    leaderboard = models.ForeignKey(Leaderboard, on_delete=models.PROTECT, db_index=False)
    key = models.CharField(max_length=MAX_KEY)

    class Meta:
        constraints = (
            # Also the index of the query: which of these keys are here already.
            models.UniqueConstraint(fields=("leaderboard", "key"), name="imported_key_is_unique"),
        )

    def __str__(self) -> str:
        return f"{self.key}: match {self.match_id}"
