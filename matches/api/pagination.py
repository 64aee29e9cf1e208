"""Pages by key: the last page of a million rows costs as much as the first."""

from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

MAX_DIGITS = 18


class NewestFirst(CursorPagination):
    """By id, the newest first."""

    ordering = "-id"
    page_size = 100
    page_size_query_param = "page_size"
    max_page_size = 1000

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Refuse a position that is no key: the address may hold anything."""
        cursor = super().decode_cursor(request)
        position = str((cursor.position if cursor else None) or 0)
        if not (position.isdecimal() and len(position) <= MAX_DIGITS):
            raise NotFound(self.invalid_cursor_message)
        return cursor


class InPlannedOrder(NewestFirst):
    """By the sequence number of the leaderboard."""

    ordering = "sequence"
