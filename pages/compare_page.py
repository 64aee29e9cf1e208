"""Up to twelve agents of a game side by side: ratings, who beat whom, strength by step."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Count
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from matches.models import Agent, Leaderboard, Rating
from matches.ratings import axes, standings
from matches.ratings.rank_ranges import RankRange, find_rank_ranges
from matches.store.catalog import game_title
from pages import board_list
from pages.crosstables import Crosstable, build_rows
from pages.lists.address import BAD_REQUEST, BadAddressError, Chip, find_agents
from pages.plots.strength import draw_runs
from pages.records import count_records
from pages.seating import name_record

MAX_AGENTS = 12
MAX_BOARDS = 20
N_STARTS = 8
"""Boards whose first agents can be compared at once, where none are named yet."""
N_FIRST = 4
FEWEST = 2


class Start(NamedTuple):
    """A board whose first agents, joined by commas as the address has them, can be compared."""

    board: Leaderboard
    agents: str
    names: str


class RatedAgent(NamedTuple):
    """An agent with its row of the leaderboard; None where it is not rated there."""

    agent: Agent
    row: standings.Row | None
    range: RankRange | None


@require_safe
def show_comparison(request: HttpRequest) -> HttpResponse:
    """Show the agents of the address side by side; without any, how to name them."""
    try:
        agents = read_agents(request.GET)
        name = request.GET.get("leaderboard", "")
        boards = _list_boards(agents, name)
        board = _choose_board(boards, name)
    except BadAddressError as error:
        context = {"problem": str(error), "chips": [], "most": MAX_AGENTS}
        return render(request, "pages/compare.html", context, status=BAD_REQUEST)
    context = {
        "agents": agents,
        "game": game_title(agents[0].game) if agents else "",
        "record": name_record(agents[0].game) if agents else None,
        "boards": boards,
        "board": board,
        "chips": _list_chips(agents, board),
        "most": MAX_AGENTS,
        "is_full": len(agents) == MAX_AGENTS,
        "starts": [] if agents else _list_starts(),
        **(_compare_agents(agents, board) if board else {}),
    }
    return render(request, "pages/compare.html", context)


def _list_starts() -> list[Start]:
    """Return the first boards with two agents that have played, or more: a query each, few."""
    starts = []
    for board in board_list.list_first(N_STARTS):
        rated = Rating.objects.filter(leaderboard=board, n_matches__gt=0)
        ranked = rated.order_by("-mu", "agent_id").values_list("agent_id", "agent__name")
        first = list(ranked[:N_FIRST])
        if len(first) >= FEWEST:
            pks, names = zip(*first, strict=True)
            starts.append(Start(board, ",".join(map(str, pks)), ", ".join(names)))
    return starts


def read_agents(query: QueryDict) -> list[Agent]:
    """Return the agents that an address names, each once. Raises BadAddressError."""
    words = [word for text in query.getlist("agents") for word in text.split(",") if word.strip()]
    if len(words) > MAX_AGENTS:
        raise BadAddressError(f"at most {MAX_AGENTS} agents fit on a page, got {len(words)}")
    agents = list(dict.fromkeys(find_agents(words)))
    played = sorted({game_title(agent.game) for agent in agents})
    if len(played) > 1:
        raise BadAddressError(f"only agents of one game can be compared, got {', '.join(played)}")
    return agents


def _list_boards(agents: Sequence[Agent], name: str) -> list[Leaderboard]:
    """Return leaderboards that rate two of these agents or more, those of most first.

    Of as many the listed ones before those of single evaluations; that of the name is among them.
    """
    rated = Rating.objects.filter(agent__in=agents, leaderboard__is_rated=True).order_by()
    n_by_board = rated.values("leaderboard").annotate(n=Count("pk")).filter(n__gte=FEWEST)
    order = ("-n", "-leaderboard__is_listed", "-leaderboard")
    in_order = n_by_board.order_by(*order).values_list("leaderboard", flat=True)
    chosen_board = in_order.filter(leaderboard__name=name) if name and "\0" not in name else []
    pks = dict.fromkeys([*in_order[:MAX_BOARDS], *chosen_board])
    boards = Leaderboard.objects.in_bulk(list(pks))
    return [boards[pk] for pk in pks]


def _choose_board(boards: Sequence[Leaderboard], name: str) -> Leaderboard | None:
    chosen = [board for board in boards if name in ("", board.name)]
    if name and not chosen:
        raise BadAddressError(f"no two of these agents are on a leaderboard {name[:80]!r}")
    return chosen[0] if chosen else None


def _list_chips(agents: Sequence[Agent], board: Leaderboard | None) -> list[Chip]:
    """Return the agents, each with the address of the page without it."""
    board_parameter = {"leaderboard": board.name} if board else {}
    chips = []
    for agent in agents:
        others = ",".join(str(other.pk) for other in agents if other != agent)
        parameters = {"agents": others, **board_parameter} if others else {}
        chips.append(Chip("Agent", agent.name, f"{reverse('compare')}?{urlencode(parameters)}"))
    return chips


def _compare_agents(agents: Sequence[Agent], board: Leaderboard) -> dict[str, Any]:
    pks = [agent.pk for agent in agents]
    ranges = find_rank_ranges(board.pk, pks)
    rated = Rating.objects.filter(leaderboard=board, agent__in=pks)
    rows = {row.agent: row for row in standings.read_rated(rated)}
    formatted_rows = {
        pk: standings.format_row(rows[pk], ranges[pk].rank) for pk in pks if pk in ranges
    }
    ordered = sorted(
        agents,
        key=lambda agent: ranges[agent.pk].rank if agent.pk in ranges else len(ranges) + 10**9,
    )
    runs = {rating.run for rating in rows.values() if rating.run and rating.step is not None}
    plot = draw_runs(board.pk, runs) if runs else None
    return {
        "rated": [
            RatedAgent(rating, formatted_rows.get(rating.pk), ranges.get(rating.pk))
            for rating in ordered
        ],
        "axis": axes.fit_axis(formatted_rows.values()),
        "n_ranked": Rating.objects.filter(leaderboard=board, n_matches__gt=0).count(),
        "crosstable": Crosstable(build_rows(ordered, count_records(board.pk, pks)), len(agents)),
        "plots": [plot] if plot else [],
    }
