"""The list of matches: the address says which ones, a form asks for others, pages go by key."""

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from arena.messages import Reason
from arena.parameters import parse_number
from matches.models import Agent, Attempt, Leaderboard, Match, Tournament
from matches.models.choices import game_choices
from matches.store.match_search import MAX_AGENTS, OPEN, RESULTS, MatchQuery, find_matches
from pages.paging import HIGHEST
from pages.seating import list_seats

MATCHES_A_PAGE = 50
MAX_TEXT = 120
BAD_REQUEST = 400
VOID_REASONS = ("operator",)
NAMES = (
    *("game", "state", "agent", "result", "reason", "seat", "ending"),
    *("from", "to", "tournament", "leaderboard", "node"),
)
OFTEN = ("agent", "game", "state", "result")
"""What the form shows at once; the rest of it opens."""
LABELS = {"from": "Played from", "to": "Played until", "ending": "An attempt at it"}


class BadAddressError(Exception):
    """The address asks for what there cannot be; the message says what to do."""


class Choice(NamedTuple):
    """A list to choose from: values with their words."""

    name: str
    label: str
    chosen: str
    options: Sequence[tuple[str, str]]


class Chip(NamedTuple):
    """A filter in force in words, and the address without it."""

    label: str
    says: str
    without: str


@require_safe
def show_matches(request: HttpRequest) -> HttpResponse:
    """List the matches that the address asks for, the newest first."""
    given = request.GET
    try:
        query, agents = read_query(given)
        page = find_matches(query, before=_number(given, "before"), limit=MATCHES_A_PAGE)
    except BadAddressError as error:
        context = {"problem": str(error), **_form(given, [])}
        return render(request, "pages/matches.html", context, status=BAD_REQUEST)
    context = {
        "matches": seat_matches(page.matches),
        "n_looked": page.n_looked,
        "is_full": len(page.matches) == MATCHES_A_PAGE,
        "agents": agents,
        "next": _address(given, before=str(page.before)) if page.before else "",
        "is_first": "before" not in given,
        **_form(given, agents),
    }
    return render(request, "pages/matches.html", context)


def seat_matches(found: Sequence[Match]) -> list[dict[str, Any]]:
    """Return matches as the template of their rows takes them."""
    return [
        {"match": match, "seats": list_seats(match, game=match.leaderboard.game)} for match in found
    ]


def read_query(given: QueryDict) -> tuple[MatchQuery, list[Agent]]:
    """Return what an address asks for, and the agents that it names. Raises BadAddressError."""
    game = _one_of(given, "game", [name for name, _ in game_choices()])
    agents = _agents([text for text in given.getlist("agent") if text.strip()], game)
    query = MatchQuery(
        game=game,
        state=_one_of(given, "state", [OPEN, *Match.State.values]),
        agents=tuple(agent.pk for agent in agents),
        result=_one_of(given, "result", RESULTS),
        reason=_text(given, "reason"),
        seat=_number(given, "seat"),
        ending=_one_of(given, "ending", Attempt.Ending.values),
        first_day=_day(given, "from"),
        last_day=_day(given, "to"),
        tournament=_number(given, "tournament"),
        leaderboard=_board(_text(given, "leaderboard")),
        node=_text(given, "node"),
    )
    if query.result in ("won", "lost") and not agents:
        raise BadAddressError(f"result={query.result} is that of an agent: name one, too")
    if query.tournament and not Tournament.objects.filter(pk=query.tournament).exists():
        raise BadAddressError(f"there is no tournament {query.tournament}")
    return query, agents


def _agents(texts: Sequence[str], game: str) -> list[Agent]:
    """Return the agents of these ids or names."""
    if len(texts) > MAX_AGENTS:
        raise BadAddressError(f"a match is looked for by two agents at most, got {len(texts)}")
    found = find_agents(texts, game)
    if len({agent.pk for agent in found}) < len(found):
        raise BadAddressError(f"agent {texts[0].strip()[:80]} is named twice: name another one")
    return found


def find_agents(texts: Sequence[str], game: str = "") -> list[Agent]:
    """Return the agents of these ids or names, in their order. Raises BadAddressError."""
    words = [text.strip()[:MAX_TEXT].replace("\0", "") for text in texts]
    numbers = {word: parse_number(word, highest=HIGHEST) for word in words}
    by_id = Agent.objects.in_bulk([number for number in numbers.values() if number is not None])
    by_name: dict[str, list[Agent]] = {}
    named = Agent.objects.filter(name__in=[word for word in words if numbers[word] is None])
    for agent in named.filter(game=game) if game else named:
        by_name.setdefault(agent.name, []).append(agent)
    return [_only(word, by_id.get(numbers[word] or 0), by_name.get(word, [])) for word in words]


def _only(word: str, of_number: Agent | None, named: Sequence[Agent]) -> Agent:
    if of_number is not None:
        return of_number
    if not named:
        raise BadAddressError(f"there is no agent called {word!r}")
    if len(named) > 1:
        choice = ", ".join(f"{agent.pk} of {agent.game}" for agent in named)
        raise BadAddressError(f"several agents are called {word!r}: give the number ({choice})")
    return named[0]


def _board(name: str) -> int | None:
    if not name:
        return None
    found = Leaderboard.objects.filter(name=name).values_list("pk", flat=True).first()
    if found is None:
        raise BadAddressError(f"there is no leaderboard {name!r}")
    return found


def _text(given: QueryDict, name: str) -> str:
    # PostgreSQL takes no NUL.
    return given.get(name, "").strip()[:MAX_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")


def _one_of(given: QueryDict, name: str, options: Sequence[str]) -> str:
    text = _text(given, name)
    if text and text not in options:
        raise BadAddressError(f"{name} must be one of {', '.join(options)}, got {text[:40]!r}")
    return text


def _number(given: QueryDict, name: str) -> int | None:
    text = _text(given, name)
    number = parse_number(text, highest=HIGHEST)
    if text and number is None:
        raise BadAddressError(f"{name} must be a number, got {text[:40]!r}")
    return number


def _day(given: QueryDict, name: str) -> date | None:
    text = _text(given, name)
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError as error:
        said = f"{name} must be a day such as 2026-11-22, got {text[:40]!r}"
        raise BadAddressError(said) from error
    # Beyond these no time can be reckoned with.
    if day and not date.min.year < day.year < date.max.year:
        raise BadAddressError(f"{name} must be a day of the years 2 to 9998")
    return day


def _form(given: QueryDict, agents: Sequence[Agent]) -> dict[str, Any]:
    """Return what the form shows: choices, what is typed, and the filters in force."""
    typed = {name: _text(given, name) for name in NAMES}
    named = [agent.name for agent in agents] or given.getlist("agent")[:MAX_AGENTS]
    choices = {
        "game": [(name, str(title)) for name, title in game_choices()],
        "state": [
            (OPEN, "not over yet"),
            *((name, str(label).lower()) for name, label in Match.State.choices),
        ],
        "result": [(name, name) for name in RESULTS],
        "ending": [(name, str(label).lower()) for name, label in Attempt.Ending.choices],
        "reason": [(name, name) for name in (*filter(None, Reason), *VOID_REASONS)],
    }
    return {
        "typed": typed,
        "first_agent": named[0] if named else "",
        "second_agent": named[1] if len(named) > 1 else "",
        "choices": {name: _choice(name, typed[name], choices[name]) for name in choices},
        "chips": _chips(given, agents),
        "is_open": any(typed[name] for name in NAMES if name not in OFTEN),
    }


def _choice(name: str, chosen: str, known: Sequence[tuple[str, str]]) -> Choice:
    strange = [(chosen, chosen)] if chosen and chosen not in dict(known) else []
    label = LABELS.get(name, name.capitalize())
    return Choice(name, label, chosen, [("", "any"), *known, *strange])


def _chips(given: QueryDict, agents: Sequence[Agent]) -> list[Chip]:
    chips = [
        Chip("Agent", agent.name, _address(given, agent=_others(agents, agent))) for agent in agents
    ]
    for name in NAMES:
        if name != "agent" and (text := _text(given, name)):
            label = LABELS.get(name, name.capitalize())
            chips.append(Chip(label, text, _address(given, **{name: ""})))
    return chips


def _others(agents: Sequence[Agent], one: Agent) -> list[str]:
    return [str(agent.pk) for agent in agents if agent != one]


def _address(given: QueryDict, **changes: str | list[str]) -> str:
    """Return the address of this list, changed: it begins anew unless `before` is one of them."""
    asked: dict[str, Any] = {name: _text(given, name) for name in NAMES if name != "agent"}
    asked["agent"] = [text for text in given.getlist("agent") if text.strip()]
    kept = {name: value for name, value in (asked | changes).items() if value}
    return f"{reverse('matches')}?{urlencode(kept, doseq=True)}" if kept else reverse("matches")
