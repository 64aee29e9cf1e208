"""Segments: files of accepted chunks, in the storage "experience"."""

from django.db import models


class Segment(models.Model):
    """A Parquet file of chunks of one game; readers take only files that have such a row.

    Its row is written after its file and before its entries leave the stream, so that whatever is
    killed in between, each entry is in one indexed file or still in the stream.
    """

    game = models.CharField(max_length=100)
    first_id = models.CharField(max_length=41, help_text="Of its first entry in the stream.")
    last_id = models.CharField(max_length=41)
    path = models.CharField(max_length=300, unique=True, help_text="Its name in the storage.")
    sha256 = models.CharField("SHA-256", max_length=64)
    n_rows = models.PositiveBigIntegerField(help_text="Steps.")
    n_bytes = models.PositiveBigIntegerField()
    min_policy_version = models.IntegerField()
    max_policy_version = models.IntegerField()
    created_at = models.DateTimeField()
    is_compacted = models.BooleanField(
        default=False, help_text="It has the segments of its day, or was alone on it."
    )
    has_index = models.BooleanField(default=True, help_text="Of its chunks.")

    class Meta:
        indexes = (
            # Query: the segments that are too old to be kept.
            models.Index(fields=("created_at",), name="segment_age"),
            # Query: the segments that are still to be joined.
            models.Index(
                fields=("id",), condition=models.Q(is_compacted=False), name="segment_to_compact"
            ),
            # Query: the segments whose chunks nobody will send again.
            models.Index(
                fields=("created_at",), condition=models.Q(has_index=True), name="segment_indexed"
            ),
        )
        constraints = (
            # Also the index of the query: the segments of a game in the order of the stream.
            models.UniqueConstraint(fields=("game", "first_id"), name="segment_first_once"),
            models.UniqueConstraint(fields=("game", "last_id"), name="segment_last_once"),
        )

    def __str__(self) -> str:
        return f"{self.n_rows} steps of {self.game} from {self.first_id}"


class ChunkIndex(models.Model):
    """In which segment a chunk is: the key that no second segment may have.

    The ids of a segment's entries do not do: two sinks, or one that takes over the entries of
    another which is only slow, cut the same entries differently, and what each has lies between
    what the other has. So not ranges but chunks are kept apart, by the database. Rows of segments
    that are days old go: no stream has such entries any more.
    """

    segment = models.ForeignKey(Segment, on_delete=models.CASCADE, related_name="chunks")
    game = models.CharField(max_length=100)
    chunk_id = models.UUIDField()

    class Meta:
        constraints = (
            # Also the index of the query: which of these chunks are in a segment already.
            models.UniqueConstraint(fields=("game", "chunk_id"), name="chunk_once"),
        )

    def __str__(self) -> str:
        return f"chunk {self.chunk_id} of {self.game}"
