"""The page of a match: who sat where, every attempt, and its moves one by one."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from matches.models import Match
from matches.operations import explain
from matches.store.catalog import game_title
from matches.store.clock import db_now
from pages.paging import read_optional_number
from pages.replays import Recorded, Replay, replay_match
from pages.seating import list_seats


@require_safe
def show_match(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a match: who sat where, every attempt with its reason, the outcome and a replay."""
    matches = Match.objects.select_related(
        "tournament__leaderboard",
        "outcome",
        "order",
        "voiding",
        "replacement__match",
        "replaces__replaced",
        "same_as__outcome",
    )
    match = get_object_or_404(matches.prefetch_related("seat_rows__agent"), pk=pk)
    board = match.tournament.leaderboard
    outcome = getattr(match, "outcome", None)
    replay = None
    # Moves are recorded with the outcome, so that no seat's view is shown before the end.
    if outcome and outcome.actions:
        plies, seed = board.opening_plies, match.game_seed
        replay = replay_match(
            Recorded(board.game, board.game_parameters, plies, seed, outcome.actions)
        )
    context = {
        "match": match,
        "board": board,
        "game": game_title(board.game),
        "seats": list_seats(match, game=board.game),
        "attempts": match.attempts.all(),
        "explanation": None if outcome else explain.of_match(match, now=db_now()),
        "replay": replay,
        **_show_step(match, replay, read_optional_number(request, "step")),
    }
    return render(request, "pages/match.html", context)


def _show_step(match: Match, replay: Replay | None, step: int | None) -> dict[str, Any]:
    """Return the position after a step, by default the last one. Raises Http404 naming the step."""
    last = replay.last_step if replay else -1
    if step is not None and step > last:
        steps = "no steps to show" if last < 0 else f"steps 0 to {last}"
        raise Http404(f"match {match.pk} has no step {step}: it has {steps}")
    if replay is None or not replay.frames:
        return {}
    at = last if step is None else step
    return {
        "step": at,
        "frame": replay.frames[at],
        "drawn": replay.draw_board(at),
        "move": replay.moves[at - 1] if at else None,
        "previous_step": at - 1 if at else None,
        "next_step": at + 1 if at < last else None,
    }
