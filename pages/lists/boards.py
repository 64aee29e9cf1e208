"""The list of leaderboards: the pinned ones, then the newest; found by name, game and state."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from matches.models import Leaderboard, Tournament
from matches.models.choices import game_choices
from matches.store.clock import db_now
from pages import board_list
from pages.downloads.files import Column, Line, Table
from pages.lists.address import ListAddress
from pages.lists.showing import cut_by_key, show_list, walk_by_key

NAMES = ("q", "game", "state")
STATES = {
    "playing": "listed, being played",
    "resting": "listed, idle",
    "unlisted": "unlisted, of single evaluations",
}
MOST_PINNED = 50
COLUMNS = (
    Column("name", str),
    Column("title", str),
    Column("game", str),
    Column("is_pinned", bool),
    Column("is_listed", bool),
    Column("n_rated_matches", int),
    Column("created_at", datetime),
    Column("rated_at", datetime),
)


@require_safe
def show_boards(request: HttpRequest) -> HttpResponseBase:
    """List the leaderboards that the address asks for."""
    address = ListAddress(request.GET, "boards", NAMES, labels={"q": "Name", "state": "Boards"})
    games = [(name, str(title)) for name, title in game_choices()]
    choices = {
        "game": address.offer("game", games),
        "state": address.offer("state", [*STATES.items()], without="all that are listed"),
    }
    form = address.describe_form(choices, often=NAMES)
    return show_list(
        request,
        "pages/boards.html",
        form,
        lambda: _list_boards(address),
        lambda: Table("leaderboards", COLUMNS, walk_by_key(_filter_boards(address), _list_lines)),
    )


def _list_boards(address: ListAddress) -> dict[str, Any]:
    """Return a page of boards, pinned ones above the first. Raises BadAddressError."""
    matching = _filter_boards(address)
    page, following = cut_by_key(matching.filter(is_pinned=False), address)
    # Above the first page only, and all of them: somebody has chosen them by hand.
    pinned = matching.filter(is_pinned=True).order_by("-pk")[:MOST_PINNED]
    boards = [*pinned, *page] if address.is_first else page
    return {
        "boards": board_list.describe_boards(boards, now=db_now()),
        "next": following,
        "is_first": address.is_first,
        "is_unlisted": address.read_text("state") == "unlisted",
    }


def _list_lines(boards: Sequence[Leaderboard]) -> list[Line]:
    return [
        (
            *(board.name, board.title or None, board.game, board.is_pinned, board.is_listed),
            *(board.n_settled, board.created_at, board.rated_at),
        )
        for board in boards
    ]


def _filter_boards(address: ListAddress) -> QuerySet[Leaderboard]:
    """Return the boards that are asked for: the listed ones unless the address says unlisted."""
    state = address.read_one_of("state", list(STATES))
    boards = Leaderboard.objects.filter(is_listed=state != "unlisted", is_rated=True)
    if text := address.read_text("q"):
        boards = boards.filter(Q(name__icontains=text) | Q(title__icontains=text))
    if game := address.read_one_of("game", [name for name, _ in game_choices()]):
        boards = boards.filter(game=game)
    if state in ("playing", "resting"):
        active = Tournament.objects.filter(state__in=Tournament.ACTIVE).values("leaderboard")
        is_playing = Q(pk__in=active)
        boards = boards.filter(is_playing if state == "playing" else ~is_playing)
    return boards
