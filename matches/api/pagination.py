"""Pages by key: the last page of a million rows costs as much as the first."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from math import isfinite
from typing import Any, NamedTuple

from django.db.models import Q
from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import NotFound
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from arena.parameters import parse_number
from matches.api.ratings import rank_rating
from matches.errors import BadInputError

MAX_DIGITS = 18


class NewestFirst(CursorPagination):
    """By id, the newest first."""

    # The key grows with time and has its index; a position in it stays right while rows come.
    ordering: Any = "-id"
    page_size = 100
    page_size_query_param = "page_size"
    page_size_query_description: Any = "Rows of a page: 100 by default, at most 500."
    max_page_size = 500  # of the widest rows, so many are written in a third of a second

    def get_page_size(self, request: Request) -> int | None:
        """Return how many rows the page has at most. Raises BadInputError."""
        text = request.query_params.get(self.page_size_query_param)
        if text and parse_number(text, lowest=1) is None:
            raise BadInputError("page_size", f"must be a whole number from 1 on, got {text!r:.80}")
        return super().get_page_size(request)

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Refuse a position that is no key: the address may hold anything."""
        cursor = super().decode_cursor(request)
        if cursor is not None and not self._is_position(str(cursor.position or 0)):
            raise NotFound(self.invalid_cursor_message)
        return cursor

    def _is_position(self, text: str) -> bool:
        return text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS


class InPlannedOrder(NewestFirst):
    """By the sequence number of the leaderboard."""

    ordering = "sequence"


class ByPosition(NewestFirst):
    """By the place in a tournament."""

    ordering = "position"


class ByKeptRank(NewestFirst):
    """By the rank that was kept."""

    ordering = "rank"


class ByMatch(NewestFirst):
    """By the id of the match, the newest first."""

    ordering = "-match_id"


class InOrderOfAttempts(NewestFirst):
    """By the number of the attempt."""

    ordering = "number"


class NewestSnapshots(NewestFirst):
    """By the time of the snapshot, the newest first; each is read whole for one agent's history."""

    ordering = "-taken_at"
    page_size = 20
    page_size_query_description = "Rows of a page: 20 by default, at most 50."
    max_page_size = 50

    def _is_position(self, text: str) -> bool:
        try:
            return text == "0" or parse_datetime(text) is not None
        except ValueError:
            return False


class WholeList(NewestFirst):
    """All there is, of what is never many."""

    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any]:
        """Return all rows."""
        del request, view
        return list(queryset)

    def get_schema_operation_parameters(self, view: APIView) -> list[Any]:
        """Return none: there is no other page."""
        del view
        return []

    def get_next_link(self) -> str | None:
        return None

    def get_previous_link(self) -> str | None:
        return None


class _Place(NamedTuple):
    """Where a page of ratings begins: after this rank, at this mu and agent.

    mu: None among the agents without a match, who come last.
    """

    rank: int
    mu: float | None
    agent: int


class ByRank(NewestFirst):
    """Ratings in the order of rank, agents without a match last. It only goes on, never back."""

    _next: str | None = None

    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any]:
        """Return the ratings of the page with their ranks. Raises NotFound for a wrong cursor."""
        del view
        size = self.get_page_size(request) or self.page_size
        place = _decode_place(request.query_params.get(self.cursor_query_param))
        rows = _read_ranked(queryset.order_by(), place, size + 1)  # one more: is there a next page?
        first = (place.rank if place else 0) + 1
        page = [rank_rating(rank, rating) for rank, rating in enumerate(rows[:size], first)]
        if len(rows) > size:
            last = page[-1]
            # With the rank: to count those above would read the board down to the page.
            mu = last.mu if last.n_matches else None
            text = json.dumps([first + len(page) - 1, mu, last.agent_id])
            cursor = urlsafe_b64encode(text.encode()).decode().rstrip("=")
            address = request.build_absolute_uri()
            self._next = replace_query_param(address, self.cursor_query_param, cursor)
        return page

    def get_next_link(self) -> str | None:
        """Return the address of the next page."""
        return self._next

    def get_previous_link(self) -> str | None:
        return None


def _read_ranked(ratings: Any, place: _Place | None, n: int) -> list[Any]:
    """Return n ratings after a place: of those who have played, then of those who have not."""
    played = ratings.filter(n_matches__gt=0).order_by("-mu", "agent_id")
    others = ratings.filter(n_matches=0).order_by("agent_id")
    if place and place.mu is None:
        return list(others.filter(agent_id__gt=place.agent)[:n])
    if place:
        # A range of the index rating_top less ties: an OR would read the board from its top.
        ties = Q(mu=place.mu, agent_id__lte=place.agent)
        played = played.filter(Q(mu__lte=place.mu) & ~ties)
    rows = list(played[:n])
    return [*rows, *others[: n - len(rows)]] if len(rows) < n else rows


def _decode_place(text: str | None) -> _Place | None:
    """Return the place that a cursor names. Raises NotFound."""
    if text is None:
        return None
    try:
        rank, mu, agent = json.loads(urlsafe_b64decode(text.encode() + b"=="))
        place = _Place(int(rank), None if mu is None else float(mu), int(agent))
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise NotFound("Invalid cursor") from error
    # NaN and Infinity are read by json as numbers, and compared by each database as it likes.
    limit = 10**MAX_DIGITS
    if not (isfinite(place.mu or 0.0) and 0 <= place.rank < limit and 0 <= place.agent < limit):
        raise NotFound("Invalid cursor")
    return place
