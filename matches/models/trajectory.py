"""Pieces of trajectories that players have put; the files are in the storage "trajectories"."""

from django.db import models

from matches.models.tournament import Tournament


class TrajectoryPiece(models.Model):
    """A stored Parquet file with the rows of some matches of one order.

    Outcome.trajectory names the piece of each match. A piece may hold rows that no outcome names:
    those of an attempt whose report never came.
    """

    tournament = models.ForeignKey(
        Tournament, on_delete=models.CASCADE, db_index=False, related_name="pieces"
    )
    order = models.UUIDField()
    sha256 = models.CharField("SHA-256", max_length=64)
    n_bytes = models.PositiveBigIntegerField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, help_text="When it is deleted; empty: never.")

    class Meta:
        constraints = (
            # Also the index of the query: the pieces of these hashes, of a tournament.
            models.UniqueConstraint(fields=("tournament", "sha256"), name="piece_once"),
        )
        indexes = (
            # Query: how much an order has put so far.
            models.Index(fields=("order",), name="piece_of_order"),
            # Query: the pieces whose time is over, the first ones first.
            models.Index(
                fields=("expires_at",),
                condition=models.Q(expires_at__isnull=False),
                name="piece_expires",
            ),
        )

    def __str__(self) -> str:
        return f"piece {self.sha256[:12]}"

    @property
    def path(self) -> str:
        """Its name in the storage."""
        return f"{self.tournament_id}/{self.sha256[:2]}/{self.sha256}.parquet"
