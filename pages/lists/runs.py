"""The list of training runs: what learns which game, how far it is, who trains it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from experience.models import TrainingRun
from matches.models.choices import game_choices
from matches.store.catalog import game_title
from pages.downloads.files import Column, Line, Table
from pages.lists.address import ListAddress
from pages.lists.showing import cut_by_key, filter_days, show_list, walk_by_key
from pages.plots.training import Part
from pages.training.returns import find_return

NAMES = ("q", "game", "state", "from", "to")
OFTEN = ("q", "game", "state")
LABELS = {"q": "Name has", "from": "Begun from", "to": "Begun until"}
COLUMNS = (
    Column("run", str),
    Column("game", str),
    Column("algorithm", str),
    Column("state", str),
    Column("problem", str),
    Column("n_steps", int),
    Column("max_steps", int),
    Column("version", int),
    Column("return", float),
    Column("trainer", str),
    Column("created_at", datetime),
    Column("reported_at", datetime),
    Column("ended_at", datetime),
)


class ListedRun(NamedTuple):
    """A run of the list; returned: as its trainer reported last."""

    run: TrainingRun
    game: str
    returned: Part | None


@require_safe
def show_runs(request: HttpRequest) -> HttpResponseBase:
    """List the training runs that the address asks for, the newest first."""
    address = ListAddress(request.GET, "runs", NAMES, labels=LABELS)
    return show_list(
        request,
        "pages/runs.html",
        _describe_form(address),
        lambda: _list_page(address),
        lambda: _make_table(address),
    )


def filter_runs(address: ListAddress) -> QuerySet[TrainingRun]:
    """Return the runs that an address asks for. Raises BadAddressError."""
    runs = TrainingRun.objects.all()
    if state := address.read_one_of("state", TrainingRun.State.values):
        runs = runs.filter(state=state)
    if game := address.read_one_of("game", [name for name, _ in game_choices()]):
        runs = runs.filter(game=game)
    if text := address.read_text("q"):
        runs = runs.filter(name__icontains=text)
    return filter_days(runs, address, "created_at")


def _list_page(address: ListAddress) -> dict[str, Any]:
    page, following = cut_by_key(filter_runs(address), address)
    return {
        "rows": [ListedRun(run, game_title(run.game), find_return(run.metrics)) for run in page],
        "next": following,
    }


def _make_table(address: ListAddress) -> Table:
    return Table("runs", COLUMNS, walk_by_key(filter_runs(address), _list_lines))


def _list_lines(runs: Sequence[TrainingRun]) -> list[Line]:
    return [
        (
            *(run.name, run.game, run.algorithm, run.state, run.problem or None, run.n_steps),
            *(run.max_steps, run.version, run.metrics.get("return"), run.trainer or None),
            *(run.created_at, run.reported_at, run.ended_at),
        )
        for run in runs
    ]


def _describe_form(address: ListAddress) -> dict[str, Any]:
    choices = {
        "game": address.offer("game", game_choices()),
        "state": address.offer("state", TrainingRun.State.choices),
    }
    return address.describe_form(choices, often=OFTEN)
