"""Pieces of trajectories: stored when a player puts them, deleted when their time is over."""

import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from http import HTTPStatus
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Sum

from matches.models import Order, Tournament, TrajectoryPiece
from matches.store import blobs
from matches.store.staging import Stream, UploadError, stage_content

log = logging.getLogger(__name__)

STORAGE = "trajectories"
MAX_PIECE_BYTES = 1 << 26
# More than this is no trajectory of an order, which is some seconds of play.
MAX_ORDER_BYTES = 1 << 31
DELETED_AT_ONCE = 200
"""Expired pieces that one tick deletes."""


def store_piece(order: UUID, digest: str, content: Stream, *, n_bytes: int, now: datetime) -> bool:
    """Store a piece of an order under its SHA-256; say whether it was not there yet.

    Raises UploadError: nothing is stored then.
    """
    tournament = _find_tournament(order, n_bytes)
    if find_stored_pieces(tournament, [digest]):
        return False
    days = tournament.trajectory_days
    piece = TrajectoryPiece(
        tournament=tournament,
        order=order,
        sha256=digest,
        n_bytes=n_bytes,
        created_at=now,
        expires_at=None if days is None else now + timedelta(days=days),
    )
    # The file is whole before its row is written: a row never names half a file.
    with stage_content(content, digest, n_bytes) as staged:
        blobs.store_file(staged, piece.path, storage=STORAGE)
    try:
        piece.save()
    except IntegrityError:  # put twice at the same moment: it is stored
        return False
    return True


def _find_tournament(order: UUID, n_bytes: int) -> Tournament:
    """Return the tournament of an order that may still put so many bytes. Raises UploadError."""
    row = Order.objects.select_related("tournament").filter(uuid=order).first()
    if row is None or not row.tournament.keeps_trajectories:
        refusal = "no order of that number stores trajectories"
        raise UploadError(HTTPStatus.NOT_FOUND, f"{order.hex}: {refusal}")
    if row.tournament.state in Tournament.OVER:
        raise UploadError(HTTPStatus.GONE, f"{order.hex}: its tournament is over")
    stored_bytes = TrajectoryPiece.objects.filter(order=order).aggregate(n=Sum("n_bytes"))["n"] or 0
    if n_bytes > MAX_PIECE_BYTES or stored_bytes + n_bytes > MAX_ORDER_BYTES:
        limits = f"{MAX_PIECE_BYTES} a piece and {MAX_ORDER_BYTES} an order"
        raise UploadError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"{order.hex}: {n_bytes} bytes after {stored_bytes} are too much: {limits} are taken",
        )
    return row.tournament


def find_stored_pieces(tournament: Tournament, digests: Collection[str]) -> set[str]:
    """Return which of the hashes are pieces of the tournament."""
    pieces = TrajectoryPiece.objects.filter(tournament=tournament, sha256__in=digests)
    return set(pieces.values_list("sha256", flat=True))


def delete_expired_pieces(*, now: datetime) -> int:
    """Delete expired pieces, the oldest first; return how many."""
    expired = list(
        TrajectoryPiece.objects.filter(expires_at__lt=now).order_by("expires_at")[:DELETED_AT_ONCE]
    )
    # The row goes last: a file without a row would stay for ever.
    for piece in expired:
        blobs.delete_file(piece.path, storage=STORAGE)
    TrajectoryPiece.objects.filter(pk__in=[piece.pk for piece in expired]).delete()
    return len(expired)
