"""The pages of games: which there are, and what who trains for one must know."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from arena.catalogs import list_problems
from arena.errors import ArenaError
from arena.games import registry as games
from arena.games.base import Game
from arena.games.pictures import Grid, check_picture
from arena.games.reference import describe_spec
from arena.policies import registry as policies
from matches.store.catalog import list_suites, read_reference
from pages import drawings


@require_safe
def show_games(request: HttpRequest) -> HttpResponse:
    """List the games with their seats, and the plug-ins that cannot be used."""
    context: dict[str, Any] = {
        "games": [games.get(name).spec for name in games.names()],
        "suites": list_suites(),
        "problems": list_problems(games.FAMILY),
    }
    return render(request, "pages/games.html", context)


@require_safe
def show_game(request: HttpRequest, game: str) -> HttpResponse:
    """Show the reference of a game with its first position, or why it cannot begin here."""
    try:
        rules = games.get(game)
    except ArenaError as error:
        raise Http404(str(error)) from error
    context = {
        "suite": rules.spec.suite,
        "policies": _list_policies(rules),
        **_describe_rules(rules, game),
    }
    return render(request, "pages/game.html", context)


def _describe_rules(rules: Game, name: str) -> dict[str, Any]:
    try:
        return {"reference": read_reference(name), **draw_start(rules)}
    except ArenaError as error:
        # A program or a server that it needs is not here: the page says so, as leaderboards and
        # lists lead to it.
        reference = describe_spec(rules.spec, games.version(name))
        return {"reference": reference, "problem": str(error)}


def _list_policies(game: Game) -> list[dict[str, str | None]]:
    """Return every kind of policy and why it cannot play the game, empty where it can."""
    return [
        {
            "id": name,
            "title": policies.get(name).title,
            "refusal": policies.find_refusal(name, game.spec),
        }
        for name in policies.names()
    ]


def draw_start(game: Game) -> dict[str, Any]:
    """Return the first position as SVG; nothing where the game draws nothing that can be shown."""
    draw = getattr(game, "picture", None)
    try:
        state = game.start(1, opening_plies=game.spec.opening_plies)
        picture_drawn = draw(state, None) if draw else None
        if picture_drawn is None:
            return {}
        picture = check_picture(
            picture_drawn.draw_cells() if isinstance(picture_drawn, Grid) else picture_drawn
        )
    # Whatever the code of a plug-in raises: the page tells the rest.
    except Exception as error:
        return {"picture_problem": str(error)}
    shapes = [drawings.draw_shape(shape) for shape in picture.shapes]
    return {"box": drawings.box_of(picture), "drawn": drawings.draw_svg(shapes)}
