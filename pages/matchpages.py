"""The page of a match: who sat where, every attempt, and its moves one by one."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from matches.models import Match
from matches.operations import explain
from matches.store.catalog import game_title
from matches.store.clock import db_now
from pages import replays
from pages.addresses import optional
from pages.replays import Recorded, Replay
from pages.seating import seats


@require_safe
def match(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a match: who sat where, every attempt with its reason, the outcome and a replay."""
    wanted = Match.objects.select_related(
        "tournament__leaderboard",
        "outcome",
        "order",
        "voiding",
        "replacement__match",
        "replaces__replaced",
        "same_as__outcome",
    )
    found = get_object_or_404(wanted.prefetch_related("seat_rows__agent"), pk=pk)
    context = {
        "match": found,
        "board": found.tournament.leaderboard,
        "game": game_title(found.tournament.leaderboard.game),
        "seats": seats(found, game=found.tournament.leaderboard.game),
        "attempts": found.attempts.all(),
        "explanation": None if _outcome(found) else explain.of_match(found, now=db_now()),
        **_replay_context(found, optional(request, "step")),
    }
    return render(request, "pages/match.html", context)


def _replay_context(found: Match, step: int | None) -> dict[str, Any]:
    """Return the position after a step, by default the last one.

    Moves are recorded with the outcome, so that no seat's view is shown before the end. Raises
    Http404 naming a step that there is not.
    """
    outcome = _outcome(found)
    if outcome is None or not outcome.actions:
        _refuse(found, step, last=None)
        return {"replay": None}
    replay = replays.replayed(_recorded(found, outcome.actions))
    if not replay.frames:
        _refuse(found, step, last=None)
        return {"replay": replay}
    at = replay.last if step is None else step
    if at > replay.last:
        _refuse(found, step, last=replay.last)
    return {"replay": replay, "step": at, **_shown(replay, at)}


def _shown(replay: Replay, at: int) -> dict[str, Any]:
    return {
        "frame": replay.frames[at],
        "drawn": replay.board(at),
        "move": replay.moves[at - 1] if at else None,
        "previous_step": at - 1 if at else None,
        "next_step": at + 1 if at < replay.last else None,
    }


def _recorded(found: Match, actions: str) -> Recorded:
    board = found.tournament.leaderboard
    plies, seed = board.opening_plies, found.game_seed
    return Recorded(board.game, board.game_parameters, plies, seed, actions)


def _refuse(found: Match, step: int | None, *, last: int | None) -> None:
    if step is not None:
        there = "no steps to show" if last is None else f"steps 0 to {last}"
        raise Http404(f"match {found.pk} has no step {step}: it has {there}")


def _outcome(found: Match) -> Any:
    return getattr(found, "outcome", None)
