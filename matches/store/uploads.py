"""Uploads: streamed to disk, and cut off where a file is too large for a checkpoint."""

from django.core.files.uploadhandler import TemporaryFileUploadHandler

from arena.checkpoints import MAX_BYTES


class BoundedUpload(TemporaryFileUploadHandler):
    """Writes every file of a form to disk, at most one byte more than a checkpoint may have.

    That byte lets the check of the file refuse it, with its reason, in the form that was sent.
    """

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Write what there is room for."""
        room = MAX_BYTES + 1 - start
        if room > 0:
            super().receive_data_chunk(raw_data[:room], start)
