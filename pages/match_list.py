"""The list of matches: the address says which ones, a form asks for others, pages go by key."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from arena.messages import Reason
from matches.models import Agent, Attempt, Match
from matches.models.choices import game_choices
from matches.store.match_query import COUNTED, MAX_AGENTS, OPEN, RESULTS, MatchQuery
from matches.store.match_search import find_matches
from pages.downloads.files import Column, Line, Table
from pages.lists.address import TEXT, BadAddressError, Chip, Field, ListAddress, find_agents
from pages.lists.showing import show_list
from pages.seating import list_seats

MATCHES_A_PAGE = 50
# A file goes through as many pages: where few of the matches fit, it ends before it is full.
MATCHES_A_LOOK, MAX_LOOKS = 500, 400
VOID_REASONS = ("operator",)
NAMES = (
    *("game", "state", "agent", "result", "reason", "seat", "ending"),
    *("from", "to", "tournament", "leaderboard", "node", "server", "counted"),
)
COLUMNS = (
    Column("id", int),
    Column("leaderboard", str),
    Column("game", str),
    Column("number", int),
    Column("tournament", int),
    Column("state", str),
    Column("agents", str),
    Column("names", str),
    Column("ranks", str),
    Column("guilty_seat", int),
    Column("recorded_at", datetime),
    Column("reason", str),
    Column("returns", str),
)
"""Agents, names, ranks and returns by seat; the best rank is 0."""
OF_AN_AGENT = ("won", "lost")
"""Results that only an agent that is named has."""
OFTEN = ("agent", "game", "state", "result")
"""What the form shows at once; the rest of it opens."""
LABELS = {
    "from": "Played from",
    "to": "Played until",
    "ending": "An attempt at it",
    "server": "Game server",
}


@require_safe
def show_matches(request: HttpRequest) -> HttpResponseBase:
    """List the matches that the address asks for, the newest first."""
    address = ListAddress(request.GET, "matches", NAMES, labels=LABELS, repeated="agent")
    return show_list(
        request,
        "pages/matches.html",
        _describe_form(address, []),
        lambda: _list_rows(address),
        lambda: _make_table(address),
    )


def _make_table(address: ListAddress) -> Table:
    query, _ = read_query(address)
    return Table("matches", COLUMNS, _walk_matches(query))


def _walk_matches(query: MatchQuery) -> Iterator[Line]:
    """Yield a line per match, the newest first, as long as MAX_LOOKS allows."""
    before = None
    for _ in range(MAX_LOOKS):
        page = find_matches(query, before=before, limit=MATCHES_A_LOOK)
        yield from map(_describe_match, page.matches)
        if (before := page.before) is None:
            return


def _describe_match(match: Match) -> Line:
    outcome = getattr(match, "outcome", None)
    seats = sorted(match.seat_rows.all(), key=lambda seat: seat.seat)
    ended = (outcome.ranks, outcome.guilty_seat, outcome.recorded_at) if outcome else (None,) * 3
    return (
        *(match.pk, match.leaderboard.name, match.leaderboard.game, match.sequence),
        *(match.tournament_id, match.state, ",".join(str(seat.agent_id) for seat in seats)),
        *("; ".join(seat.agent.name for seat in seats), *ended),
        match.void_reason or (outcome.reason if outcome else None) or None,
        outcome.returns or None if outcome else None,
    )


def _list_rows(address: ListAddress) -> dict[str, Any]:
    query, agents = read_query(address)
    page = find_matches(query, before=address.read_number("before"), limit=MATCHES_A_PAGE)
    return {
        "matches": seat_matches(page.matches),
        "n_looked": page.n_looked,
        "is_full": len(page.matches) == MATCHES_A_PAGE,
        "agents": agents,
        "next": address.make(before=str(page.before)) if page.before else "",
        **_describe_form(address, agents),
    }


def seat_matches(matches: Sequence[Match]) -> list[dict[str, Any]]:
    """Return matches as the template of their rows takes them."""
    return [
        {"match": match, "seats": list_seats(match, game=match.leaderboard.game)}
        for match in matches
    ]


def read_query(address: ListAddress) -> tuple[MatchQuery, list[Agent]]:
    """Return what an address asks for, and the agents that it names. Raises BadAddressError."""
    game = address.read_one_of("game", [name for name, _ in game_choices()])
    agents = _find_agents(address.read_texts("agent"), game)
    query = MatchQuery(
        game=game,
        state=address.read_one_of("state", [OPEN, *Match.State.values]),
        agents=tuple(agent.pk for agent in agents),
        result=address.read_one_of("result", RESULTS),
        reason=address.read_text("reason"),
        seat=address.read_number("seat"),
        ending=address.read_one_of("ending", Attempt.Ending.values),
        first_day=address.read_day("from"),
        last_day=address.read_day("to"),
        tournament=address.read_tournament(),
        leaderboard=address.read_leaderboard(),
        node=address.read_text("node"),
        server=address.read_text("server"),
        counted=address.read_one_of("counted", [COUNTED]),
    )
    if query.result in OF_AN_AGENT and not agents:
        raise BadAddressError(f"result={query.result} is that of an agent: name one, too")
    return query, agents


def _find_agents(texts: Sequence[str], game: str) -> list[Agent]:
    """Return the agents of these ids or names."""
    if len(texts) > MAX_AGENTS:
        raise BadAddressError(f"a match is looked for by two agents at most, got {len(texts)}")
    agents = find_agents(texts, game)
    if len({agent.pk for agent in agents}) < len(agents):
        raise BadAddressError(f"agent {texts[0].strip()[:80]} is named twice: name another one")
    return agents


def _describe_form(address: ListAddress, agents: Sequence[Agent]) -> dict[str, Any]:
    """Return what the form shows: choices, what is typed, and the filters in force."""
    names = [agent.name for agent in agents] or address.read_texts("agent")[:MAX_AGENTS]
    options = {
        "game": [(name, str(title)) for name, title in game_choices()],
        "state": [
            (OPEN, "not over yet"),
            *((name, str(label).lower()) for name, label in Match.State.choices),
        ],
        "result": [(name, name) for name in RESULTS],
        "ending": [(name, str(label).lower()) for name, label in Attempt.Ending.choices],
        "reason": [(name, name) for name in (*filter(None, Reason), *VOID_REASONS)],
        "counted": [(COUNTED, "in the ratings")],
    }
    choices = {name: address.offer(name, offered) for name, offered in options.items()}
    form = address.describe_form(choices, often=OFTEN)
    return {
        **form,
        "fields": [*_offer_agents(names), *form["fields"][1:]],
        "chips": [*_make_agent_chips(address, agents), *form["chips"]],
    }


def _offer_agents(names: Sequence[str]) -> list[Field]:
    """Return the two fields of agents: a match is looked for by both."""
    first, second = [*names, "", ""][:2]
    return [
        Field("agent", "Agent, name or number", TEXT, first),
        Field("agent", "Against or with", TEXT, second, "anybody"),
    ]


def _make_agent_chips(address: ListAddress, agents: Sequence[Agent]) -> list[Chip]:
    keys = [str(agent.pk) for agent in agents]
    # The last agent takes along what is said of it alone.
    is_lone = len(keys) == 1 and address.read_text("result") in OF_AN_AGENT
    lost: dict[str, str | list[str]] = {"result": ""} if is_lone else {}
    return [
        address.make_chip(
            "agent", agent.name, agent=[key for key in keys if key != str(agent.pk)], **lost
        )
        for agent in agents
    ]
