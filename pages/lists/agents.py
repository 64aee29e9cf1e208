"""The list of agents."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from matches.models import Agent, Checkpoint, Entrant, Rating, Tournament
from matches.models.choices import game_choices, policy_choices
from matches.store.catalog import game_title, policy_title
from pages.downloads.files import Column, Line, Table
from pages.lists.address import ListAddress
from pages.lists.showing import cut_by_key, filter_days, show_list, walk_by_key

NAMES = ("q", "game", "kind", "run", "state", "leaderboard", "tournament", "from", "to")
OFTEN = ("q", "run", "game", "kind", "state")
LABELS = {"q": "Name has", "from": "Registered from", "to": "Registered until"}
PLAYING, RETIRED, QUARANTINED = STATES = ("playing", "retired", "in quarantine")
SHOWN_STATES = {PLAYING: "can play", RETIRED: RETIRED, QUARANTINED: QUARANTINED}

_SHOWN = (
    *("agent_id", "n_matches", "mu", "low", "high"),
    *(f"leaderboard__{name}" for name in ("name", "title", "is_rated")),
)

COLUMNS = (
    Column("id", int),
    Column("name", str),
    Column("game", str),
    Column("policy", str),
    Column("run", str),
    Column("step", int),
    Column("checkpoint", str),
    Column("state", str),
    Column("n_rated_matches", int),
    Column("created_at", datetime),
)


class ListedAgent(NamedTuple):
    """An agent of the list; n_matches: rated ones, on all leaderboards; rating: that of most.

    state: what the filter calls it; doing: what it does now, as the list says it.
    """

    agent: Agent
    game: str
    kind: str
    state: str
    doing: str
    n_matches: int
    rating: Rating | None


@require_safe
def show_agents(request: HttpRequest) -> HttpResponseBase:
    """List the agents that the address asks for, the newest first."""
    address = ListAddress(request.GET, "agents", NAMES, labels=LABELS)
    return show_list(
        request,
        "pages/agents.html",
        _describe_form(address),
        lambda: _list_page(address),
        lambda: _make_table(address),
    )


def filter_agents(address: ListAddress) -> QuerySet[Agent]:
    """Return the agents that an address asks for. Raises BadAddressError."""
    agents = Agent.objects.select_related("checkpoint")
    if text := address.read_text("q"):
        agents = agents.filter(name__icontains=text)
    if game := address.read_one_of("game", [name for name, _ in game_choices()]):
        agents = agents.filter(game=game)
    if kind := address.read_text("kind"):
        agents = agents.filter(policy=kind)
    if run := address.read_text("run"):
        agents = agents.filter(checkpoint__run=run)
    if tournament := address.read_tournament():
        entered = Entrant.objects.filter(tournament=tournament)
        agents = agents.filter(pk__in=entered.order_by().values("agent"))
    if board := address.read_leaderboard():
        agents = agents.filter(pk__in=Rating.objects.filter(leaderboard=board).values("agent"))
    agents = _filter_state(agents, address.read_one_of("state", STATES))
    return filter_days(agents, address, "created_at")


def describe_state(agent: Agent) -> str:
    """Return which of the states of the list an agent is in."""
    if agent.quarantined_at is not None:
        return QUARANTINED
    return RETIRED if agent.is_retired else PLAYING


def describe_agents(agents: Sequence[Agent]) -> list[ListedAgent]:
    """Return agents as the list shows them: two queries for all of them."""
    counts, ratings = Counter[int](), dict[int, Rating]()
    rated = Rating.objects.filter(agent__in=agents, n_matches__gt=0)
    rated_rows = rated.select_related("leaderboard").only(*_SHOWN)
    for rating in rated_rows.order_by("n_matches", "leaderboard_id"):
        counts[rating.agent_id] += rating.n_matches
        if rating.leaderboard.is_rated:
            ratings[rating.agent_id] = rating
    active = Entrant.objects.filter(agent__in=agents, tournament__state=Tournament.State.RUNNING)
    playing = set(active.order_by().values_list("agent_id", flat=True))
    return [
        ListedAgent(
            agent,
            game_title(agent.game),
            policy_title(agent.policy),
            describe_state(agent),
            _describe_doing(agent, is_playing=agent.pk in playing),
            counts[agent.pk],
            ratings.get(agent.pk),
        )
        for agent in agents
    ]


def _describe_doing(agent: Agent, *, is_playing: bool) -> str:
    if (state := describe_state(agent)) != PLAYING:
        return SHOWN_STATES[state]
    weights = agent.checkpoint
    if weights is not None and weights.state != Checkpoint.State.READY:
        return weights.state
    return "playing" if is_playing else "idle"


def _filter_state(agents: QuerySet[Agent], state: str) -> QuerySet[Agent]:
    if not state:
        return agents
    if state == QUARANTINED:
        return agents.filter(quarantined_at__isnull=False)
    return agents.filter(quarantined_at=None, is_retired=state == RETIRED)


def _make_table(address: ListAddress) -> Table:
    return Table("agents", COLUMNS, walk_by_key(filter_agents(address), _list_lines))


def _list_lines(agents: Sequence[Agent]) -> list[Line]:
    return [
        (
            *(listed.agent.pk, listed.agent.name, listed.agent.game, listed.agent.policy),
            *_describe_weights(listed.agent.checkpoint),
            *(listed.state, listed.n_matches, listed.agent.created_at),
        )
        for listed in describe_agents(agents)
    ]


def _describe_weights(checkpoint: Checkpoint | None) -> tuple[str | None, int | None, str | None]:
    return (checkpoint.run, checkpoint.step, checkpoint.sha256) if checkpoint else (None,) * 3


def _list_page(address: ListAddress) -> dict[str, Any]:
    page, following = cut_by_key(filter_agents(address), address)
    return {"rows": describe_agents(page), "next": following}


def _describe_form(address: ListAddress) -> dict[str, Any]:
    choices = {
        "game": address.offer("game", game_choices()),
        "kind": address.offer("kind", policy_choices()),
        "state": address.offer("state", [*SHOWN_STATES.items()]),
    }
    return address.describe_form(choices, often=OFTEN)
