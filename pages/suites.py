"""The page of a suite: of each of its tasks a table of the agents that have played it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from arena.parameters import parse_number
from matches.models import Agent, Leaderboard
from matches.ratings.score_leads import FEWEST_SEEDS
from matches.store.catalog import Suite, list_suites
from pages.lead_table import MOST_AGENTS, LeadTable, make_lead_table
from pages.lists.address import BAD_REQUEST, MAX_TEXT, BadAddressError
from pages.paging import HIGHEST

AGENT, BOARD = "agent", "leaderboard"


class Choice(NamedTuple):
    """What the address asks for, by the id of the game."""

    agents: Mapping[str, Agent]
    boards: Mapping[str, Leaderboard]


NO_CHOICE = Choice({}, {})


class BoardLink(NamedTuple):
    """A leaderboard that a task can be read of, and the address of the page that does."""

    board: Leaderboard
    address: str


@require_safe
def show_suite(request: HttpRequest, name: str) -> HttpResponse:
    """Show the tasks of a suite. Raises Http404 naming the suites there are."""
    suite, choice, problem = _find_suite(name), NO_CHOICE, ""
    try:
        choice = _read_choice(request.GET, suite)
        tables = _make_tables(suite, choice)
    except BadAddressError as error:
        problem, tables = str(error), _make_tables(suite, NO_CHOICE)
    context: dict[str, Any] = {
        "suite": suite,
        "tables": [{"table": table, "boards": _link_boards(table, choice)} for table in tables],
        "chosen_boards": list(choice.boards.values()),
        "has_choice": any(table.chosen for table in tables),
        "problem": problem,
        "fewest": FEWEST_SEEDS,
        "most_agents": MOST_AGENTS,
    }
    return render(request, "pages/suite.html", context, status=BAD_REQUEST if problem else None)


def _find_suite(name: str) -> Suite:
    suites = {suite.name: suite for suite in list_suites()}
    if name not in suites:
        raise Http404(f"there is no suite {name!r}: choose among {', '.join(suites) or 'none'}")
    return suites[name]


def _make_tables(suite: Suite, choice: Choice) -> list[LeadTable]:
    return [
        make_lead_table(spec, board=choice.boards.get(spec.id), agent=choice.agents.get(spec.id))
        for spec in suite.tasks
    ]


def _read_choice(query: QueryDict, suite: Suite) -> Choice:
    """Return the agents and leaderboards that are named. Raises BadAddressError."""
    games = {spec.id: spec.title for spec in suite.tasks}
    agents: dict[str, Agent] = {}
    for agent in _find_agents(_read_words(query, AGENT, len(games)), suite.title, list(games)):
        if agents.setdefault(agent.game, agent) != agent:
            raise BadAddressError(f"two agents are given for {games[agent.game]}: give one")
    boards: dict[str, Leaderboard] = {}
    for board in _find_boards(_read_words(query, BOARD, len(games)), suite.title, list(games)):
        if boards.setdefault(board.game, board) != board:
            raise BadAddressError(f"two leaderboards are given for {games[board.game]}: give one")
    return Choice(agents, boards)


def _read_words(query: QueryDict, key: str, most: int) -> list[str]:
    # PostgreSQL takes no NUL.
    texts = (text.strip()[:MAX_TEXT].replace("\0", "") for text in query.getlist(key))
    words = list(dict.fromkeys(filter(None, texts)))
    if len(words) > most:
        raise BadAddressError(f"at most one {key} for each of the {most} tasks, got {len(words)}")
    return words


def _find_agents(words: Sequence[str], title: str, games: Sequence[str]) -> list[Agent]:
    """Return the agents of these ids or names; a name may be one of several tasks."""
    numbers = {word: parse_number(word, highest=HIGHEST) for word in words}
    by_id = Agent.objects.in_bulk([number for number in numbers.values() if number is not None])
    named = list(Agent.objects.filter(name__in=words, game__in=games).order_by("pk"))
    chosen: list[Agent] = []
    for word in words:
        agent = by_id.get(numbers[word] or 0)
        agents = [agent] if agent else [agent for agent in named if agent.name == word]
        if not agents:
            raise BadAddressError(f"no agent of {title} is called {word!r}")
        chosen += agents
    if others := [agent for agent in chosen if agent.game not in games]:
        raise BadAddressError(f"{others[0]} plays {others[0].game}, which is no task of {title}")
    return chosen


def _find_boards(names: Sequence[str], title: str, games: Sequence[str]) -> list[Leaderboard]:
    rated = Leaderboard.objects.filter(name__in=names, game__in=games, is_rated=True)
    boards = {board.name: board for board in rated}
    if missing := [name for name in names if name not in boards]:
        raise BadAddressError(f"no task of {title} has a leaderboard {missing[0]!r}")
    return [boards[name] for name in names]


def _link_boards(table: LeadTable, choice: Choice) -> list[BoardLink]:
    """Return the leaderboards of a task, each with the address that keeps the other tasks."""
    other_tasks = [
        (AGENT, str(agent.pk)) for game, agent in choice.agents.items() if game != table.spec.id
    ]
    other_tasks += [
        (BOARD, board.name) for game, board in choice.boards.items() if game != table.spec.id
    ]
    boards = {board.pk: board for board in (*table.boards, table.board) if board}
    return [
        BoardLink(board, f"?{urlencode([*other_tasks, (BOARD, board.name)])}")
        for board in boards.values()
    ]
