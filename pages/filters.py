"""Which rows of a board are shown, and in which order, as the address says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest

from matches.models import Entrant, Leaderboard, Rating, Tournament
from matches.ratings import snapshots, standings
from matches.ratings.standings import TOP, Field, Row
from matches.store.catalog import is_scored_game, policy_title
from pages.lists.address import Chip
from pages.paging import read_number

MAX_TEXT = 120
ELO = "elo"
# So many are offered at most; the newest tournaments.
N_RUNS, N_TOURNAMENTS = 200, 50


class Light(NamedTuple):
    """What rows are sorted by: the whole field is read so, the rows of one page in full."""

    agent: int
    mu: float
    value: Any


Key = Callable[[Light, Field], Any]


class Sort(NamedTuple):
    """An order of rows: by what, in words; which field of a row; the column and key it goes by."""

    label: str
    field: str
    column: str
    key: Key = lambda row, _: row.value
    is_highest_first: bool = True


SORTS: Mapping[str, Sort] = {
    "rating": Sort("rating", "mu", "mu"),
    "name": Sort(
        "name",
        "name",
        "agent__name",
        lambda row, _: str(row.value).lower(),
        is_highest_first=False,
    ),
    "live": Sort("live rating", "live", "live_mu"),
    # Of games of one seat; those without a score come last.
    "score": Sort(
        "mean score",
        "score",
        "mean_score",
        lambda row, _: -inf if row.value is None else row.value,
    ),
    # Of agents beyond the first ranks no chance is computed: they come after those that have none.
    "best": Sort("P(best)", "best", "mu", lambda row, field: field.p_best.get(row.agent, -1.0)),
    # Without a rating an hour ago there is no trend: those come last.
    "trend": Sort(
        "trend", "trend", "mu", lambda row, field: row.mu - field.mu_before.get(row.agent, inf)
    ),
    "matches": Sort("matches", "matches", "n_matches"),
    "wins": Sort("wins", "wins", "n_wins"),
    "forfeits": Sort("forfeits", "forfeits", "n_forfeits"),
}


@dataclass(frozen=True)
class View:
    """What is asked for: agents by part of the name, policy kind, run and tournament; an order.

    A sort with "-" before it is the other way round. scale: elo, or empty for ratings.
    """

    q: str = ""
    kind: str = ""
    run: str = ""
    tournament: str = ""
    sort: str = "rating"
    scale: str = ""

    @property
    def is_plain(self) -> bool:
        """True for the whole board by rank, which is what is pushed."""
        return replace(self, scale="") == View()

    @property
    def is_whole(self) -> bool:
        """True for all agents of the board, in whatever order."""
        return replace(self, sort=View().sort, scale="") == View()

    @property
    def order(self) -> Sort:
        """By what the rows are sorted."""
        return SORTS[self.sort.removeprefix("-")]

    @property
    def is_descending(self) -> bool:
        """True when the highest value comes first."""
        return self.order.is_highest_first != self.sort.startswith("-")

    @property
    def watched(self) -> str:
        """Name the field that orders the rows, and the direction: the page's script keeps it."""
        return ("-" if self.is_descending else "") + self.order.field

    def make_query(self, page: int = 1, **changes: str) -> str:
        """Return the address within the board of this view, changed."""
        default = asdict(View())
        # Defaults are left out, so that one view has one address.
        changed = {k: v for k, v in asdict(replace(self, **changes)).items() if v != default[k]}
        pages = {"page": str(page)} if page > 1 else {}
        return "?" + urlencode(changed | pages)


class Choice(NamedTuple):
    """A list to choose from."""

    name: str
    label: str
    chosen: str
    options: list[dict[str, str]]


def read_view(request: HttpRequest) -> View:
    """Return what the address asks for. Raises Http404 naming what is wrong."""
    texts = {name: request.GET.get(name, "").strip()[:MAX_TEXT] for name in asdict(View())}
    # PostgreSQL takes no NUL.
    fields = {name: text.replace("\0", "\N{REPLACEMENT CHARACTER}") for name, text in texts.items()}
    fields["sort"] = fields["sort"] or "rating"
    if fields["sort"].removeprefix("-") not in SORTS:
        raise Http404(f"sort must be one of {', '.join(SORTS)}, got {fields['sort'][:40]!r}")
    if fields["scale"] not in ("", ELO):
        raise Http404(f"scale must be {ELO} or left out, got {fields['scale'][:40]!r}")
    if fields["tournament"]:
        read_number(request, "tournament", default=0)
    return View(**fields)


def find_rows(board: Leaderboard, view: View, *, start: int) -> tuple[list[Row], int]:
    """Return a page of rows with their ranks on the whole board, and how many match the view.

    Reads the field once, whatever was played.
    """
    order = view.order
    # To read what all agents had an hour ago takes long: an order by trend alone needs it.
    is_by_trend = order.field == "trend"
    field = standings.load_field(board.pk, None if is_by_trend else ())
    ratings = standings.rank_ratings(board.pk).select_related(None)
    columns = ("agent_id", "mu", order.column, "n_matches")
    ranked = list(ratings.values_list(*columns))
    played = {agent for agent, _, _, n_matches in ranked if n_matches}
    # In the order of rank, which equal values keep; who has not played stands below all others.
    ranked.sort(key=lambda row: row[0] not in played)
    rows = [Light(*row[:-1]) for row in ranked]
    # Ranks before anything is left out: an agent keeps its rank whatever is asked for.
    ranks = {row.agent: rank for rank, row in enumerate(rows, 1)}
    if not view.is_whole:
        matching = set(filter_agents(board, view))
        rows = [row for row in rows if row.agent in matching]
    ordered = sorted(rows, key=lambda row: order.key(row, field), reverse=view.is_descending)
    ordered.sort(key=lambda row: row.agent not in played)
    page = [row.agent for row in ordered[start : start + TOP]]
    if not is_by_trend:
        field = field._replace(mu_before=snapshots.read_mu_before(board, page))
    whole = {row.agent: row for row in standings.read_rated(ratings.filter(agent__in=page))}
    return [standings.format_row(whole[pk], ranks[pk], field) for pk in page], len(rows)


def list_choices(board: Leaderboard, view: View) -> list[Choice]:
    """Return what can be chosen on this board."""
    rated = Rating.objects.filter(leaderboard=board).order_by()
    families = list(rated.values_list("agent__policy", "agent__checkpoint__run").distinct())
    kinds = [(kind, policy_title(kind)) for kind in sorted({kind for kind, _ in families})]
    runs = sorted({run for _, run in families if run})[:N_RUNS]
    newest = board.tournaments.order_by("-pk")[:N_TOURNAMENTS].values_list("pk", "name")
    tournaments = [(str(pk), name) for pk, name in newest]
    if view.tournament and view.tournament not in dict(tournaments):
        tournaments.append((view.tournament, f"number {view.tournament}"))
    left_out = "live" if is_scored_game(board.game) else "score"
    sorts = [
        {"value": name, "label": sort.label} for name, sort in SORTS.items() if name != left_out
    ]
    reverse = [{"value": f"-{o['value']}", "label": f"{o['label']}, reversed"} for o in sorts]
    return [
        Choice("kind", "Kind", view.kind, _list_options(kinds, view.kind)),
        Choice("run", "Run", view.run, _list_options([(run, run) for run in runs], view.run)),
        Choice("tournament", "Tournament", view.tournament, _list_options(tournaments, "")),
        Choice("sort", "Sorted by", view.sort, sorts + reverse),
    ]


def list_chips(view: View, choices: Sequence[Choice], address: str) -> list[Chip]:
    """Return the filters and the sort in force in words, each with the address without it."""
    words = {
        choice.name: {option["value"]: option["label"] for option in choice.options}
        for choice in choices
    }
    texts = {"q": view.q, "kind": view.kind, "run": view.run, "tournament": view.tournament}
    labels = {"q": "Name has", **{choice.name: choice.label for choice in choices}}
    chips = []
    for name, text in texts.items():
        if text:
            without = address + view.make_query(1, **{name: ""})
            chips.append(Chip(labels[name], words.get(name, {}).get(text, text), without))
    if view.sort != View().sort:
        without = address + view.make_query(sort=View().sort)
        chips.append(Chip(labels["sort"], f"{view.order.label}, {_describe_order(view)}", without))
    return chips


def _describe_order(view: View) -> str:
    if view.order is SORTS["name"]:
        return "Z to A" if view.is_descending else "A to Z"
    return "highest first" if view.is_descending else "lowest first"


def filter_agents(board: Leaderboard, view: View) -> QuerySet[Rating, int]:
    """Return the ids of the agents that are asked for."""
    conditions = Q(leaderboard=board)
    if view.q:
        conditions &= Q(agent__name__icontains=view.q)
    if view.kind:
        conditions &= Q(agent__policy=view.kind)
    if view.run:
        conditions &= Q(agent__checkpoint__run=view.run)
    if view.tournament:
        # Of this board only: another one's tournament may have entered the same agents.
        entered = Tournament.objects.filter(pk=int(view.tournament), leaderboard=board)
        conditions &= Q(agent__in=Entrant.objects.filter(tournament__in=entered).values("agent"))
    return Rating.objects.filter(conditions).values_list("agent_id", flat=True)


def _list_options(values: Sequence[tuple[str, str]], chosen: str) -> list[dict[str, str]]:
    """Return an option for any, one per value, and the chosen one if it is none of them.

    Without the last the form would say "any" while the address asks for something.
    """
    strange = [(chosen, chosen)] if chosen and chosen not in dict(values) else []
    return [{"value": value, "label": label} for value, label in [("", "any"), *values, *strange]]
