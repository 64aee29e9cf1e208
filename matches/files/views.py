"""Files under signed links: checkpoints for gpu workers and play nodes, pieces of trajectories."""

from uuid import UUID

from django.core.files import File
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods

from matches.artifacts import trajectories
from matches.files.answers import answer_file, answer_upload
from matches.models import Checkpoint, TrajectoryPiece
from matches.store import blobs, signing
from matches.store.clock import db_now


@require_GET
def serve_checkpoint(request: HttpRequest, sha256: str) -> HttpResponseBase:
    """Answer the sealed file of that hash; its content never changes."""

    def open_file() -> "File[bytes] | None":
        checkpoint = Checkpoint.objects.filter(sha256=sha256).first()
        return blobs.open_file(checkpoint.path) if checkpoint else None

    return answer_file(
        request,
        signing.checkpoint_path(sha256),
        sha256,
        open_file,
        missing=f"there is no file of checkpoint {sha256}: it may be refused",
        content_type="application/octet-stream",
        now=db_now(),
    )


# Players are no browsers and have no session: the signed link is what lets them in.
@csrf_exempt
@require_http_methods(["GET", "PUT"])
def serve_piece(request: HttpRequest, order: str, sha256: str) -> HttpResponseBase:
    """Store or answer the piece whose SHA-256 is the last part of the address."""
    now = db_now()

    def store(n_bytes: int) -> bool:
        return trajectories.store_piece(UUID(order), sha256, request, n_bytes=n_bytes, now=now)

    def open_file() -> "File[bytes] | None":
        piece = TrajectoryPiece.objects.filter(order=UUID(order), sha256=sha256).first()
        return blobs.open_file(piece.path, storage=trajectories.STORAGE) if piece else None

    if request.method == "PUT":
        return answer_upload(request, signing.trajectories_path(order), sha256, store, now=now)
    return answer_file(
        request,
        # Its link is of its own, not that of its order: who may put one may not read all.
        signing.piece_path(order, sha256),
        sha256,
        open_file,
        missing=f"there is no piece {sha256}: its time may be over",
        content_type="application/vnd.apache.parquet",
        now=now,
    )
