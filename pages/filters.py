"""Which rows of a board are asked for, and in which order: all of it stands in the address."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest

from matches.models import Entrant, Leaderboard, Rating, Tournament
from matches.ratings import standings
from matches.ratings.standings import TOP, Field, Row
from matches.store.catalog import policy_title
from pages.addresses import number

MAX_TEXT = 120
N_RUNS, N_TOURNAMENTS = 200, 50
"""So many are offered at most; the newest tournaments."""


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


def _trend(row: Light, among: Field) -> float:
    before = among.mu_before.get(row.agent)
    return float("-inf") if before is None else row.mu - before


def _best(row: Light, among: Field) -> float:
    return among.p_best.get(row.agent, -1.0)


def _name(row: Light, _: Field) -> str:
    return str(row.value).lower()


SORTS: Mapping[str, Sort] = {
    "rating": Sort("rating", "mu", "mu"),
    "name": Sort("name", "name", "agent__name", _name, is_highest_first=False),
    "live": Sort("live rating", "live", "live_mu"),
    "best": Sort("P(best)", "best", "mu", _best),
    "trend": Sort("trend", "trend", "mu", _trend),
    "matches": Sort("matches", "matches", "n_matches"),
    "wins": Sort("wins", "wins", "n_wins"),
    "forfeits": Sort("forfeits", "forfeits", "n_forfeits"),
}


@dataclass(frozen=True)
class View:
    """What is asked for: agents by part of the name, policy kind, run and tournament; an order.

    A sort with "-" before it is the other way round.
    """

    q: str = ""
    kind: str = ""
    run: str = ""
    tournament: str = ""
    sort: str = "rating"

    @property
    def is_plain(self) -> bool:
        """True for the whole board by rank, which is what is pushed."""
        return self == View()

    @property
    def is_whole(self) -> bool:
        """True for all agents of the board, in whatever order."""
        return replace(self, sort=View().sort) == View()

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
        """The field of a row that must stay in order, and the direction: for the page's script."""
        return ("-" if self.is_descending else "") + self.order.field

    def query(self, page: int = 1, **changes: str) -> str:
        """Return the address within the board of this view, changed."""
        default = asdict(View())
        asked = {k: v for k, v in asdict(replace(self, **changes)).items() if v != default[k]}
        pages = {"page": str(page)} if page > 1 else {}
        return "?" + urlencode(asked | pages)


class Found(NamedTuple):
    """A page of rows, and of how many."""

    rows: list[Row]
    n: int


class Choice(NamedTuple):
    """A list to choose from."""

    name: str
    label: str
    chosen: str
    options: list[dict[str, str]]


def read(request: HttpRequest) -> View:
    """Return what the address asks for. Raises Http404 naming what is wrong."""
    asked = {name: request.GET.get(name, "").strip()[:MAX_TEXT] for name in asdict(View())}
    asked["sort"] = asked["sort"] or "rating"
    if asked["sort"].removeprefix("-") not in SORTS:
        raise Http404(f"sort must be one of {', '.join(SORTS)}, got {asked['sort'][:40]!r}")
    if asked["tournament"]:
        number(request, "tournament", default=0)
    return View(**asked)


def find(board: Leaderboard, view: View, *, start: int) -> Found:
    """Return rows of the board as asked for, with their ranks on the whole board.

    Reads the field once, whatever was played.
    """
    among, order = standings.load_field(board.pk), view.order
    field = standings.rank_ratings(board.pk).select_related(None)
    # In the order of rank, which equal values keep.
    rows = [Light(*row) for row in field.values_list("agent_id", "mu", order.column)]
    ranks = {row.agent: rank for rank, row in enumerate(rows, 1)}
    wanted = rows if view.is_whole else _chosen(rows, board, view)
    ordered = sorted(wanted, key=lambda row: order.key(row, among), reverse=view.is_descending)
    page = [row.agent for row in ordered[start : start + TOP]]
    whole = {row.agent: row for row in standings.read_rated(field.filter(agent__in=page))}
    return Found([standings.format_row(whole[pk], ranks[pk], among) for pk in page], len(wanted))


def choices(board: Leaderboard, view: View) -> list[Choice]:
    """Return what can be chosen on this board."""
    kinds, runs = _families(board)
    newest = board.tournaments.order_by("-pk")[:N_TOURNAMENTS].values_list("pk", "name")
    named = [(str(pk), name) for pk, name in newest]
    if view.tournament and view.tournament not in dict(named):
        named.append((view.tournament, f"number {view.tournament}"))
    sorts = [{"value": name, "label": sort.label} for name, sort in SORTS.items()]
    reverse = [{"value": f"-{o['value']}", "label": f"{o['label']}, reversed"} for o in sorts]
    return [
        Choice("kind", "Kind", view.kind, _options(kinds, view.kind)),
        Choice("run", "Run", view.run, _options([(run, run) for run in runs], view.run)),
        Choice("tournament", "Tournament", view.tournament, _options(named, "")),
        Choice("sort", "Sorted by", view.sort, sorts + reverse),
    ]


def _chosen(rows: Sequence[Light], board: Leaderboard, view: View) -> list[Light]:
    wanted = set(_wanted(board, view))
    return [row for row in rows if row.agent in wanted]


def _wanted(board: Leaderboard, view: View) -> QuerySet[Rating, int]:
    """Return the ids of the agents that are asked for."""
    conditions = Q(leaderboard=board)
    if view.q:
        conditions &= Q(agent__name__icontains=view.q)
    if view.kind:
        conditions &= Q(agent__policy=view.kind)
    if view.run:
        conditions &= Q(agent__checkpoint__run=view.run)
    if view.tournament:
        entered = Tournament.objects.filter(pk=int(view.tournament), leaderboard=board)
        conditions &= Q(agent__in=Entrant.objects.filter(tournament__in=entered).values("agent"))
    return Rating.objects.filter(conditions).values_list("agent_id", flat=True)


def _families(board: Leaderboard) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the policy kinds with their titles and the training runs of a board."""
    rated = Rating.objects.filter(leaderboard=board).order_by()
    found = list(rated.values_list("agent__policy", "agent__checkpoint__run").distinct())
    kinds = sorted({kind for kind, _ in found})
    return (
        [(kind, policy_title(kind)) for kind in kinds],
        sorted({run for _, run in found if run})[:N_RUNS],
    )


def _options(known: Sequence[tuple[str, str]], chosen: str) -> list[dict[str, str]]:
    """Return an option for any, the known ones, and the chosen one if it is none of them."""
    strange = [(chosen, chosen)] if chosen and chosen not in dict(known) else []
    shown = [("", "any"), *known, *strange]
    return [{"value": value, "label": label} for value, label in shown]
