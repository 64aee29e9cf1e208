"""The search: what has a page and is known by a name, a hash or a number.

Names are looked for in tables that stay small beside the matches: a part of a name reads all of
one. Matches are found by their key and by their number on a leaderboard only, checkpoints by the
beginning of their hash: each by an index.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from django.db.models import Case, Model, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from arena.parameters import parse_number
from matches.models import Agent, Campaign, Checkpoint, Leaderboard, Match, Tournament, Worker
from matches.store.catalog import game_title
from matches.store.selectors import SHORTEST_HASH
from pages.lists.address import MAX_TEXT
from pages.paging import HIGHEST

HITS_A_GROUP = 10
# Their matches are looked for by number: those of the newest leaderboards.
N_BOARDS = 20
# Above every digit of a hash, in every collation: the end of the range of those that begin so.
AFTER_HEX = "g"
Row = TypeVar("Row", bound=Model)


class Hit(NamedTuple):
    """Something that was found: what it is called, what it is, and its page."""

    name: str
    about: str
    address: str


class Group(NamedTuple):
    """Hits of one kind; more: the list of all of them where there are more than are shown."""

    title: str
    hits: list[Hit]
    more: str


@require_safe
def show_results(request: HttpRequest) -> HttpResponse:
    """Show what the text of the address finds, kind by kind."""
    text = request.GET.get("q", "").strip()[:MAX_TEXT].replace("\0", "")
    groups = [group for group in find_groups(text) if group.hits] if text else []
    context = {"search_text": text, "groups": groups, "n_hits": sum(len(g.hits) for g in groups)}
    return render(request, "pages/search.html", context)


def find_groups(text: str) -> Iterator[Group]:
    """Yield what is found of each kind: at most ten queries, whatever was played."""
    number = parse_number(text.removeprefix("#"), highest=HIGHEST)
    yield _make_group("Leaderboards", _find_boards(text), _describe_board)
    yield _make_group("Agents", _find_named(Agent, text, number), _describe_agent, "agents", text)
    tournaments = _find_named(Tournament, text, number).select_related("leaderboard", "campaign")
    yield _make_group(
        "Tournaments and campaigns", tournaments, _describe_tournament, "tournaments", text
    )
    yield Group("Runs", _find_runs(text), "")
    yield Group("Checkpoints", _find_checkpoints(text), "")
    if number is not None:
        yield Group("Matches", _find_matches(number), "")
    nodes = Worker.objects.filter(node__icontains=text)
    yield _make_group("Nodes", _rank_rows(nodes, "node", text), _describe_node)


def _make_group(
    title: str,
    rows: QuerySet[Row],
    describe: Callable[[Row], Hit],
    route: str = "",
    text: str = "",
) -> Group:
    shown_rows = list(rows[: HITS_A_GROUP + 1])
    more = (
        f"{reverse(route)}?{urlencode({'q': text})}"
        if route and len(shown_rows) > HITS_A_GROUP
        else ""
    )
    return Group(title, [describe(row) for row in shown_rows[:HITS_A_GROUP]], more)


def _find_boards(text: str) -> QuerySet[Leaderboard]:
    is_match = Q(name__icontains=text) | Q(title__icontains=text)
    # Unlisted ones, too: whoever knows the name of a board made by an evaluation looks for it.
    return _rank_rows(Leaderboard.objects.filter(is_match, is_rated=True), "name", text)


def _find_named(model: type[Row], text: str, number: int | None) -> QuerySet[Row]:
    """Return the rows whose name has the text, and that of the number."""
    rows: QuerySet[Row] = model._default_manager.filter(Q(name__icontains=text) | Q(pk=number))
    return _rank_rows(rows, "name", text)


def _rank_rows(rows: QuerySet[Row], column: str, text: str) -> QuerySet[Row]:
    """Return rows in order: those called so, those whose name begins so, the newest first."""
    place = Case(
        When(**{f"{column}__iexact": text}, then=Value(0)),
        When(**{f"{column}__istartswith": text}, then=Value(1)),
        default=Value(2),
    )
    return rows.order_by(place, "-pk")


def _find_runs(text: str) -> list[Hit]:
    runs = Checkpoint.objects.filter(run__icontains=text).order_by("run")
    names = runs.values_list("run", "game").distinct()[:HITS_A_GROUP]
    return [
        Hit(run, f"training run in {game_title(game)}", _make_link("agents", run=run, game=game))
        for run, game in names
    ]


def _find_checkpoints(text: str) -> list[Hit]:
    """Return the checkpoints whose hash begins so, each with the page of an agent that has it."""
    start = text.lower()
    if not re.fullmatch(rf"[0-9a-f]{{{SHORTEST_HASH},64}}", start):
        return []
    # A range, which every database finds by the index; of LIKE that depends on its collation.
    stored = Checkpoint.objects.filter(sha256__gte=start, sha256__lt=start + AFTER_HEX)
    page = list(stored.order_by("sha256")[:HITS_A_GROUP])
    used = Agent.objects.filter(checkpoint__in=[row.sha256 for row in page]).order_by("-pk")
    first_agent = dict(used.values_list("checkpoint__sha256", "pk"))
    return [
        Hit(
            checkpoint.sha256,
            f"weights of {checkpoint.run}{_name_step(checkpoint)}, {checkpoint.state}",
            reverse("agent", args=[first_agent[checkpoint.sha256]])
            if checkpoint.sha256 in first_agent
            else _make_link("agents", run=checkpoint.run),
        )
        for checkpoint in page
    ]


def _find_matches(number: int) -> list[Hit]:
    """Return the match of this id, and those of this number on the newest leaderboards."""
    newest = Leaderboard.objects.filter(is_rated=True).values_list("pk", flat=True)
    boards = list(newest[:N_BOARDS])
    related = Match.objects.select_related("leaderboard")
    numbered = related.filter(leaderboard__in=boards, sequence=number).order_by("-pk")
    rows = [*related.filter(pk=number), *numbered[:HITS_A_GROUP]]
    matches = {match.pk: match for match in rows}
    return [_describe_match(match) for match in matches.values()]


def _describe_board(board: Leaderboard) -> Hit:
    return Hit(str(board), game_title(board.game), reverse("board", args=[board.name]))


def _describe_agent(agent: Agent) -> Hit:
    about = f"agent {agent.pk}, {game_title(agent.game)}"
    return Hit(agent.name, about, reverse("agent", args=[agent.pk]))


def _describe_tournament(tournament: Tournament) -> Hit:
    kind = "campaign" if _has_campaign(tournament) else "tournament"
    about = f"{kind} {tournament.pk} on {tournament.leaderboard}, {tournament.shown_state}"
    return Hit(tournament.name, about, reverse("tournament", args=[tournament.pk]))


def _has_campaign(tournament: Tournament) -> bool:
    try:
        return bool(tournament.campaign)
    except Campaign.DoesNotExist:
        return False


def _describe_match(match: Match) -> Hit:
    name = f"Match {match.pk} on {match.leaderboard}"
    about = f"number {match.sequence:,} there, {match.get_state_display().lower()}"
    return Hit(name, about, reverse("match", args=[match.pk]))


def _describe_node(worker: Worker) -> Hit:
    about = f"game server, {worker.game}" if worker.is_server else "node"
    return Hit(worker.node, about, reverse("node", args=[worker.pk]))


def _name_step(checkpoint: Checkpoint) -> str:
    return "" if checkpoint.step is None else f" at step {checkpoint.step:,}"


def _make_link(route: str, **filters: Any) -> str:
    return f"{reverse(route)}?{urlencode(filters)}"
