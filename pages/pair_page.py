"""The page of two agents: which is better, how sure that is, and every game between them."""

from collections.abc import Sequence
from shlex import quote
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Exists, F, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from matches.models import Agent, Campaign, Entrant, Leaderboard, PairCount, Rating
from matches.models.choices import question_choices
from matches.ratings.comparisons import compare_agents
from matches.store.catalog import game_problem, game_title
from matches.store.formats import format_percent
from matches.store.pair_search import count_planned, find_played
from pages import campaignpages, pair_numbers, score_pair
from pages.match_list import seat_matches
from pages.paging import HIGHEST, read_optional_number
from pages.records import Record

PAIR = 2
MAX_BOARDS = 20
MAX_CAMPAIGNS = 6
GAMES_A_PAGE = 25
MOST_COUNTED = 1_000
"""Planned matches that are counted."""
MORE = 200
"""Matches that are offered to be played."""
MAY_PLAY = "matches.add_tournament"


@require_safe
def show_pair(request: HttpRequest, first: int, second: int) -> HttpResponse:
    """Show two agents against each other. Raises Http404 where they cannot meet."""
    agents = _find_agents(first, second)
    name = request.GET.get("leaderboard", "")
    boards = _find_shared_boards(agents, name)
    board = _choose_board(boards, name, agents)
    played = pair_numbers.read_games(first, second)
    of_board = [game for game in played if board and game.leaderboard == board.pk]
    context = {
        "first": agents[0],
        "second": agents[1],
        "game": game_title(agents[0].game),
        "boards": boards,
        "board": board,
        "comparison": _compare_agents(agents, board) if board else None,
        "gaps": score_pair.describe_gaps(board, agents[0], agents[1]),
        "is_duel": board is not None and pair_numbers.count_seats(board) == PAIR,
        "by_seat": pair_numbers.group_by_seat(board, first, second) if board else [],
        "by_tournament": pair_numbers.group_by_tournament(played),
        "by_opening": pair_numbers.group_by_opening(of_board, board) if board else [],
        "n_read": len(played),
        "is_cut": len(played) >= pair_numbers.MAX_GAMES,
        "campaigns": _list_campaigns(agents),
        "more": _play_more(request, agents, board),
        **_list_games(agents, before=read_optional_number(request, "before")),
    }
    return render(request, "pages/pair.html", context)


def _find_agents(first: int, second: int) -> list[Agent]:
    if first == second:
        raise Http404(f"agent {first} cannot be compared with itself: give the number of another")
    # A longer number fits no key of the database.
    agents = Agent.objects.in_bulk([pk for pk in (first, second) if pk <= HIGHEST])
    for pk in (first, second):
        if pk not in agents:
            raise Http404(f"there is no agent {pk}")
    agent_a, agent_b = agents[first], agents[second]
    if agent_a.game != agent_b.game:
        pair = (agent_a, agent_b)
        games = ", ".join(f"{agent} plays {game_title(agent.game)}" for agent in pair)
        raise Http404(f"{games}: only agents of one game can be compared")
    return [agent_a, agent_b]


def _find_shared_boards(agents: Sequence[Agent], name: str) -> list[Leaderboard]:
    """Return leaderboards that rate all of these agents, the newest first.

    Of many the listed ones before those of single evaluations; that of the name is among them.
    """
    rated = Rating.objects.filter(agent__in=agents, leaderboard__is_rated=True).order_by()
    shared = rated.values("leaderboard").annotate(n=Count("pk")).filter(n=len(agents))
    pks = shared.order_by("-leaderboard__is_listed", "-leaderboard").values_list(
        "leaderboard", flat=True
    )
    chosen_board = pks.filter(leaderboard__name=name) if name and "\0" not in name else []
    boards = Leaderboard.objects.in_bulk([*pks[:MAX_BOARDS], *chosen_board])
    return [boards[pk] for pk in sorted(boards, reverse=True)]


def _choose_board(
    boards: list[Leaderboard], name: str, agents: Sequence[Agent]
) -> Leaderboard | None:
    """Return the chosen leaderboard, else the one with most of their matches."""
    if name:
        for board in boards:
            if board.name == name:
                return board
        raise Http404(f"the two are not both on a leaderboard {name[:80]!r}")
    if len(boards) <= 1:
        return boards[0] if boards else None
    pks = [agent.pk for agent in agents]
    pair_counts = PairCount.objects.filter(leaderboard__in=boards, first__in=pks, second__in=pks)
    counts = pair_counts.annotate(n=F("n_first_wins") + F("n_draws") + F("n_second_wins"))
    n_met = dict.fromkeys((board.pk for board in boards), 0)
    for pk, n in counts.values_list("leaderboard_id", "n"):
        n_met[pk] += n
    return max(boards, key=lambda board: (n_met[board.pk], board.pk))


def _compare_agents(agents: Sequence[Agent], board: Leaderboard) -> dict[str, Any] | None:
    """Return which of the two is better on a board, as the API's comparison says it."""
    if game_problem(board.game):
        return None
    rated = Rating.objects.filter(leaderboard=board, agent__in=agents).select_related("leaderboard")
    ratings = {rating.agent_id: rating for rating in rated}
    comparison = compare_agents(ratings[agents[0].pk], ratings[agents[1].pk])
    count = comparison.head_to_head
    record = Record(count.n_wins, count.n_draws, count.n_losses)
    is_first = comparison.p_above >= 1 / 2
    p_better = comparison.p_above if is_first else 1 - comparison.p_above
    return {
        "better": agents[0] if is_first else agents[1],
        "p_better": format_percent(p_better, is_estimate=True),
        # To what is shown of it, as `evalsite compare` has it.
        "is_even": round(100 * comparison.p_above, 1) == 50,  # noqa: PLR2004
        "elo": pair_numbers.compute_elo(comparison, board),
        "record": record,
        "expected": [
            (label, format_percent(chance))
            for label, chance in (
                ("wins", comparison.expected.win),
                ("draws", comparison.expected.draw),
                ("loses", comparison.expected.loss),
            )
        ],
        "share": round(100 * comparison.p_above, 1),
    }


def _list_campaigns(agents: Sequence[Agent]) -> list[campaignpages.ListedCampaign]:
    """Return the campaigns and gates that both entered; those between the two alone come first."""
    # Looked up by its position: a field of ten thousand would take a tenth of a second to count.
    third = Entrant.objects.filter(tournament=OuterRef("tournament"), position=PAIR)
    shared = Campaign.objects.select_related("tournament__leaderboard")
    for agent in agents:
        shared = shared.filter(tournament__entrant__agent=agent)
    newest = list(shared.annotate(has_others=Exists(third)).order_by("-pk")[: 5 * MAX_CAMPAIGNS])
    newest.sort(key=lambda campaign: campaign.has_others)
    return campaignpages.list_campaigns(newest[:MAX_CAMPAIGNS])


def _list_games(agents: Sequence[Agent], *, before: int | None) -> dict[str, Any]:
    pair = (agents[0].pk, agents[1].pk)
    page = find_played(pair, before=before, limit=GAMES_A_PAGE)
    n_planned = count_planned(pair, most=MOST_COUNTED + 1)
    return {
        "matches": seat_matches(page.matches),
        "next_match": page.before,
        "n_planned": min(n_planned, MOST_COUNTED),
        "are_more_planned": n_planned > MOST_COUNTED,
    }


def _play_more(
    request: HttpRequest, agents: Sequence[Agent], board: Leaderboard | None
) -> dict[str, Any]:
    """Return where more games of the two are asked for: a form of the admin, or a command."""
    name = board.name if board else "NAME"
    command = f"./run campaign {' '.join(quote(agent.name) for agent in agents)}"
    retired = [agent for agent in agents if agent.is_retired]
    user = request.user
    return {
        "n": MORE,
        # The form is one of the admin, which is for staff.
        "may": board is not None and user.is_staff and user.has_perm(MAY_PLAY),
        "address": reverse("admin:matches_campaign_add"),
        "questions": [choice for choice in question_choices() if choice[0] in ("best", "sprt")],
        "command": f"{command} -l {name} --max-matches {MORE}",
        "login": f"{reverse('admin:login')}?{urlencode({'next': request.get_full_path()})}",
        "retired": retired[0] if retired else None,
    }
