"""The catalogue of models: what runs have released, how strong it is, how often it was loaded."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from django.db.models import Count, Max, Q, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from experience.models import Release, TrainingRun
from matches.models import Agent
from matches.models.choices import game_choices
from matches.store.catalog import game_title, is_scored_game
from pages.lineages import Kin
from pages.lists.address import BAD_REQUEST, BadAddressError, ListAddress
from pages.lists.showing import cut_by_key
from pages.training.recommending import answer_form
from pages.training.strength import Strength, read_strengths

NAMES: Final = ("game",)
_RELATED = ("agent__checkpoint__parent", "campaign__tournament__leaderboard")


class Model(NamedTuple):
    """A run with the newest version that was released, None before there is one.

    parent: the checkpoint that it was trained from and who plays it, None where it has none.
    """

    run: TrainingRun
    n_released: int
    n_downloads: int
    released: Release | None
    strength: Strength | None
    parent: Kin | None


class OfGame(NamedTuple):
    """The models of a game."""

    game: str
    title: str
    is_scored: bool
    models: list[Model]


@require_safe
def show_models(request: HttpRequest) -> HttpResponse:
    """Show the models that the address asks for, by game, and who fits whom."""
    address = ListAddress(request.GET, "models", NAMES)
    context: dict[str, Any] = {"chosen": address.read_text("game"), **answer_form(request.GET)}
    status = BAD_REQUEST if "wish_problem" in context else None
    try:
        context |= _list_page(address)
    except BadAddressError as error:
        context["problem"], status = str(error), BAD_REQUEST
    return render(request, "pages/models.html", context, status=status)


def _list_page(address: ListAddress) -> dict[str, Any]:
    runs = TrainingRun.objects.filter(version__gte=0)
    if game := address.read_one_of("game", [name for name, _ in game_choices()]):
        runs = runs.filter(game=game)
    page, following = cut_by_key(runs, address)
    models = _describe_models(page)
    games = dict.fromkeys(model.run.game for model in models)
    of_games = [
        OfGame(
            game,
            game_title(game),
            is_scored_game(game),
            [model for model in models if model.run.game == game],
        )
        for game in games
    ]
    return {
        "games": sorted(of_games, key=lambda game: game.title),
        "next": following,
        "is_first": address.is_first,
    }


def _describe_models(runs: Sequence[TrainingRun]) -> list[Model]:
    """Return runs as the catalogue shows them: four queries."""
    is_released = Q(state=Release.State.RELEASED)
    of_runs = Release.objects.filter(run__in=[run.pk for run in runs]).order_by()
    counted = {
        run: counts
        for run, *counts in of_runs.values_list("run").annotate(
            n_released=Count("pk", filter=is_released),
            n_loaded=Sum("n_downloads"),
            newest=Max("version", filter=is_released),
        )
    }
    are_newest = Q(pk=None)
    for run, (_, _, version) in counted.items():
        if version is not None:
            are_newest |= Q(run=run, version=version)
    newest = {
        release.run_id: release for release in of_runs.filter(are_newest).select_related(*_RELATED)
    }
    strengths, parents = read_strengths(newest.values()), _find_parents(newest.values())
    models = []
    for run in runs:
        n_released, n_downloads, _ = counted.get(run.pk, (0, 0, None))
        released = newest.get(run.pk)
        strength, parent = None, None
        if released is not None:
            strength, parent = strengths.get(released.pk), parents.get(released.pk)
        models.append(Model(run, n_released, n_downloads or 0, released, strength, parent))
    return models


def _find_parents(releases: Iterable[Release]) -> dict[int, Kin]:
    """Return what each was trained from, with the agent that plays it: one query."""
    parents = {
        release.pk: release.agent.checkpoint.parent
        for release in releases
        if release.agent and release.agent.checkpoint and release.agent.checkpoint.parent
    }
    hashes = {parent.sha256 for parent in parents.values()}
    playing = Agent.objects.filter(checkpoint__sha256__in=hashes).order_by("-pk")
    # Of several the first that was registered stands for it.
    agents = {str(agent.checkpoint_id): agent for agent in playing}
    return {pk: Kin(parent, agents.get(parent.sha256)) for pk, parent in parents.items()}
