"""The choice of agents: of the chosen leaderboard's game, searched by name, added by the run.

Without script it is a list of boxes and buttons that show the form again; with it only this part of
the page is made anew.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, cast

from django import forms
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse_lazy

from arena.parameters import parse_number
from matches.models import Agent, Checkpoint, Leaderboard, Rating
from matches.store.catalog import game_title

N_TOP: Final = 8
N_FOUND: Final = 50
N_RUNS: Final = 6
MOST_AT_ONCE: Final = 500
"""Of one button, and of the boxes of a form: Django takes 1,000 fields."""
ADD, FIND = "agents-add", "agents-find"


class Run(NamedTuple):
    """A training run with how many of its agents may play."""

    name: str
    n_agents: int


class Request(NamedTuple):
    """What was chosen and looked for so far."""

    board: Leaderboard | None
    pks: Sequence[int]
    text: str
    add: str


def read_request(data: Mapping[str, Any]) -> Request:
    """Return what a form or the address of its part says; what is no key of a row is left out."""
    values: Any = data
    texts = values.getlist("agents") if hasattr(values, "getlist") else values.get("agents") or []
    board = parse_number(str(data.get("leaderboard") or ""))
    return Request(
        Leaderboard.objects.filter(pk=board).first() if board is not None else None,
        [pk for text in texts if (pk := parse_number(str(text))) is not None][:MOST_AT_ONCE],
        _read_text(data, FIND),
        _read_text(data, ADD),
    )


def _read_text(data: Mapping[str, Any], name: str) -> str:
    # PostgreSQL takes no NUL.
    text = str(data.get(name) or "").strip()[:120]
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def list_playing(board: Leaderboard | None) -> QuerySet[Agent]:
    """Return the agents that may be entered on a leaderboard; without one, in any game."""
    agents = Agent.objects.filter(is_retired=False, quarantined_at=None)
    return agents.filter(game=board.game) if board else agents


def add_agents(request: Request) -> list[int]:
    """Return the chosen agents with those that a button adds: all, top or a run."""
    playing = list_playing(request.board)
    if request.add == "none":
        return []
    more: QuerySet[Any, int]
    if request.add == "all":
        more = playing.order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE]
    elif request.add == "top" and request.board is not None:
        rated = Rating.objects.filter(leaderboard=request.board, agent__in=playing)
        more = rated.order_by("-mu", "pk").values_list("agent", flat=True)[:N_TOP]
    elif request.add.startswith("run:"):
        of_run = playing.filter(checkpoint__run=request.add.removeprefix("run:"))
        more = of_run.order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE]
    else:
        return list(request.pks)
    return list(dict.fromkeys([*request.pks, *more]))[:MOST_AT_ONCE]


def describe_choice(request: Request) -> dict[str, Any]:
    """Return the context of the part: who is chosen, who else fits, what the buttons add."""
    pks = add_agents(request)
    playing = list_playing(request.board)
    agents = {agent.pk: agent for agent in Agent.objects.filter(pk__in=pks)}
    game = request.board.game if request.board else None
    chosen = [a for pk in pks if (a := agents.get(pk)) and game in {None, a.game}]
    matching = playing.filter(name__icontains=request.text) if request.text else playing
    others = matching.exclude(pk__in=[agent.pk for agent in chosen]).order_by("game", "name", "pk")
    offered = list(others[: N_FOUND + 1])
    n_all = playing[: MOST_AT_ONCE + 1].count() if request.board else 0
    return {
        "board": request.board,
        "chosen": chosen,
        "n_other_game": len(agents) - len(chosen),
        "others": [
            (game_title(game), list(agents))
            for game, agents in groupby(offered[:N_FOUND], key=lambda agent: agent.game)
        ],
        "game": game_title(game) if game else "",
        "is_more": len(offered) > N_FOUND,
        "text": request.text,
        "runs": list_runs(request.board) if request.board else [],
        "n_all": n_all if n_all <= MOST_AT_ONCE else 0,
        "n_top": N_TOP,
        "address": reverse_lazy("admin:matches_agent_pick"),
    }


def list_runs(board: Leaderboard) -> list[Run]:
    """Return the runs that registered a checkpoint last, of the leaderboard's game."""
    # Of the newest checkpoints only: a game may have very many.
    newest = Checkpoint.objects.filter(game=board.game).order_by("-pk")
    names = list(dict.fromkeys(newest.values_list("run", flat=True)[:MOST_AT_ONCE]))[:N_RUNS]
    runs = (
        list_playing(board)
        .filter(checkpoint__run__in=names)
        .values("checkpoint__run")
        .annotate(n_agents=Count("pk"))
    )
    by_name = {row["checkpoint__run"]: row["n_agents"] for row in runs}
    return [Run(name, by_name[name]) for name in names if name in by_name]


class AgentPicker(forms.SelectMultiple):
    """Boxes with a search, for agents of the leaderboard that is chosen in the same form."""

    sent: Mapping[str, Any] | None = None
    """What was sent with the form, or stands in the address that led to it."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> Any:
        """Return the part as it stands."""
        del name, renderer
        sent = self.sent or {}
        request = read_request(sent)._replace(
            pks=[pk for choice in value or () if (pk := parse_number(str(choice))) is not None]
        )
        context = {**describe_choice(request), "id": (attrs or {}).get("id", "id_agents")}
        return render_to_string("admin/acts/picker.html", context)

    def value_omitted_from_data(self, *_: Any) -> bool:
        """Return False: nobody chosen is an answer."""
        return False


class AgentsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # generic for mypy only
    """Agents by their keys."""

    def clean(self, value: Any) -> Any:
        """Return the agents. Raises ValidationError for a key that no row can have."""
        for text in map(str, value or ()):
            # SQLite fails at these; whatever else is no key, the field itself refuses.
            if text.isdecimal() and parse_number(text) is None:
                raise forms.ValidationError(f"there is no agent {text:.40}")
        return super().clean(value)


def show_picker(request: HttpRequest) -> HttpResponse:
    """Return the part alone, for what was chosen and looked for."""
    context = {**describe_choice(read_request(request.GET)), "id": "id_agents"}
    return HttpResponse(render_to_string("admin/acts/picker.html", context))


def picker_url(admin_site: Any) -> URLPattern:
    """Return the address of the part; it is of the list of agents."""
    view = cast(Callable[[HttpRequest], HttpResponse], admin_site.admin_view(show_picker))
    return path("pick/", view, name="matches_agent_pick")
