"""The page of a match: who sat where, every attempt, and its moves one by one."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

from arena.errors import ArenaError
from arena.games.base import OVER
from arena.move_notes import NOTHING, MoveNote
from arena.pairing.base import rotate_seats
from matches.models import Attempt, Match
from matches.models.match import join_numbers, parse_numbers
from matches.operations import explain
from matches.store.catalog import game_title
from matches.store.clock import db_now
from matches.store.formats import format_brief
from pages import drawings, notation, replays, values
from pages.paging import read_optional_number
from pages.replays import Move, RecordedMatch, Replay
from pages.seat_signs import SeatSign, list_signs
from pages.seating import list_seats, tell_fault, tell_result, weigh_result

FRAMES_KEPT_S = 600
"""A browser keeps the frames so long: an outcome never changes, only how it is drawn."""


@require_safe
def show_match(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a match: who sat where, every attempt with its reason, the outcome and a replay."""
    match = find_match(pk)
    board = match.tournament.leaderboard
    worth = weigh_result(match)
    # The words of a forfeit are looked for in them, too: read once.
    prefetch_related_objects([match], "attempts")
    attempts = list(match.attempts.all())
    played = [
        attempt for attempt in attempts if attempt.n_steps and attempt.ending == Attempt.Ending.DONE
    ]
    step = show_step(
        match, read_optional_number(request, "step"), read_optional_number(request, "seat")
    )
    seats = list_seats(match, game=board.game)
    context = {
        "match": match,
        "board": board,
        "imported": getattr(match.tournament, "imported", None),
        "game": game_title(board.game),
        "seats": [{**seat, "worth": worth.get(seat["seat"])} for seat in seats],
        "result": tell_result(match, seats) if has_outcome(match) else "",
        "fault": tell_fault(match) if has_outcome(match) else "",
        "attempts": attempts,
        # Of a match of before the time of each move was kept.
        "ms_a_move": None
        if step.get("times")
        else next((attempt.duration_ms / attempt.n_steps for attempt in played), None),
        "explanation": None if has_outcome(match) else explain.of_match(match, now=db_now()),
        "program": write_replay_program(match) if can_replay(step["replay"]) else "",
        **find_neighbours(match),
        **step,
    }
    return render(request, "pages/match.html", context)


@require_safe
def send_frames(request: HttpRequest, pk: int) -> HttpResponse:
    """Return every position of a match at once, for a browser that steps by itself."""
    del request
    match = find_match(pk)
    replay = replay_moves(match)
    signs, notes = list_signs(match, replay), values.read_match_notes(match)
    numbers: dict[str, int] = {}
    frames = [replay.frames[step] for step in range(replay.last_step + 1)]
    numbered = [
        [[numbers.setdefault(shape, len(numbers)) for shape in view.shapes] for view in frame.views]
        for frame in frames
    ]
    # What all positions begin with is drawn once: the board and its labels.
    columns = zip(*(shapes for views in numbered for shapes in views), strict=False)
    n_ground = len(list(takewhile(lambda column: len(set(column)) == 1, columns)))
    answer = JsonResponse(
        {
            "shapes": list(numbers),
            "ground": numbered[0][0][:n_ground] if numbered else [],
            "frames": [
                {
                    "said": tell_step(match, replay, step, signs, notes),
                    "views": [
                        [view.box, view.words, shapes[n_ground:], view.events]
                        for view, shapes in zip(frame.views, numbered[step], strict=True)
                    ],
                }
                for step, frame in enumerate(frames)
            ],
        }
    )
    patch_cache_control(answer, private=True, max_age=FRAMES_KEPT_S)
    return answer


@require_safe
def send_file(request: HttpRequest, pk: int, form: str) -> HttpResponse:
    """Return a match as a file. Raises Http404 where its game has no such form."""
    del request
    match = find_match(pk)
    forms = notation.list_forms(match.tournament.leaderboard.game)
    if form not in forms:
        raise Http404(f"match {pk} can be had as {' or '.join(forms)}, not as {form[:20]!r}")
    replay = replay_moves(match, steps=())
    if replay.last_step < 0:
        raise Http404(f"match {pk} cannot be played again: {replay.problem}")
    agents = {row.seat: str(row.agent) for row in match.seat_rows.all()}
    heading = notation.Heading(
        match=match.pk,
        game_seed=match.game_seed,
        event=str(match.tournament),
        round=match.sequence,
        date=f"{match.outcome.recorded_at:%Y-%m-%d}",
        agents=[agents[seat] for seat in sorted(agents)],
        ranks=parse_numbers(match.outcome.ranks),
        reason=match.outcome.reason,
    )
    try:
        text, kind = notation.write_match(form, replay, heading, values.read_match_notes(match))
    except ArenaError as error:
        raise Http404(f"match {pk} cannot be written as {form}: {error}") from error
    answer = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="match-{pk}.{form}"'
    return answer


def find_match(pk: int) -> Match:
    """Return a match with all that its page tells. Raises Http404."""
    matches = Match.objects.select_related(
        "tournament__leaderboard",
        "tournament__imported",
        "outcome",
        "order",
        "voiding",
        "replacement__match",
        "replaces__replaced",
        "same_as__outcome",
    )
    return get_object_or_404(matches.prefetch_related("seat_rows__agent"), pk=pk)


def find_neighbours(match: Match) -> dict[str, Any]:
    """Return the matches before and after, and those of the same seed with the seats changed."""
    planned = Match.objects.filter(tournament=match.tournament_id).only("pk", "sequence")
    lineup = tuple(match.agent_ids)
    turned = [join_numbers(seating) for seating in rotate_seats(lineup) if seating != lineup]
    sisters = planned.filter(block=match.block, lineup__in=turned)
    return {
        "match_before": planned.filter(sequence__lt=match.sequence).order_by("-sequence").first(),
        "match_after": planned.filter(sequence__gt=match.sequence).order_by("sequence").first(),
        # Sorted here: for an order SQLite would read all matches of the tournament.
        "sister_matches": sorted(sisters, key=lambda sister: sister.sequence),
    }


def has_outcome(match: Match) -> bool:
    """Say whether a match was recorded; one that was struck has its outcome still."""
    return hasattr(match, "outcome")


def can_replay(replay: Replay | None) -> bool:
    """Say whether a match can be played again to its end."""
    return replay is not None and replay.last_step >= 0 and not replay.problem


def replay_moves(match: Match, *, steps: tuple[int, ...] | None = None) -> Replay:
    """Return the replay of a match that was recorded. Raises Http404."""
    if not has_outcome(match) or not match.outcome.actions:
        raise Http404(f"match {match.pk} has no moves to show")
    board = match.tournament.leaderboard
    plies, seed = board.opening_plies, match.game_seed
    version, actions = match.tournament.rules_version, match.outcome.actions
    recorded = RecordedMatch(board.game, board.game_parameters, plies, seed, actions, version)
    return replays.replay_match(recorded, steps=steps)


def show_step(match: Match, step: int | None, seat: int | None) -> dict[str, Any]:
    """Return the position after a step, by default the last one, as all or one seat see it.

    Moves are recorded with the outcome, so that no seat's view is shown before the end. Raises
    Http404 naming a step that there is not.
    """
    replay = None
    last = -1
    if has_outcome(match) and match.outcome.actions:
        at = len(match.outcome.actions.split()) if step is None else step
        # The position before it, too: what is new since then is marked.
        replay = replay_moves(match, steps=(at - 1, at))
        last = replay.last_step
        if step is None and 0 <= last < at:
            replay = replay_moves(match, steps=(last - 1, last))
    if step is not None and step > last:
        steps = "no steps to show" if last < 0 else f"steps 0 to {last}"
        raise Http404(f"match {match.pk} has no step {step}: it has {steps}")
    if replay is None or last < 0:
        return {"replay": replay}
    return {"replay": replay, **show_position(match, replay, last if step is None else step, seat)}


def show_position(match: Match, replay: Replay, step: int, seat: int | None) -> dict[str, Any]:
    """Return what the page tells of a position. Raises Http404 for a seat without a view."""
    views = replay.frames[step].views
    n_viewers = len(views) - 1
    if seat is not None and seat >= n_viewers:
        viewers = f"seats 0 to {n_viewers - 1}" if n_viewers else "one view for all"
        raise Http404(f"match {match.pk} has no view of seat {seat}: it has {viewers}")
    view = views[0 if seat is None else seat + 1]
    signs, notes = list_signs(match, replay), values.read_match_notes(match)
    curve, times = values.draw_curve(notes, replay.moves), values.draw_times(notes, replay.moves)
    return {
        "step": step,
        "view": view,
        "drawn": drawings.draw_svg(view.shapes),
        "seat": seat,
        "viewers": range(n_viewers),
        "said": tell_step(match, replay, step, signs, notes),
        "signs": signs,
        "moves": [list_move(move, notes, signs) for move in replay.moves],
        "curve": curve,
        "curve_lines": [(signs[line.seat], line) for line in curve.lines] if curve else [],
        "times": times,
        "time_bars": [(signs[bars.seat], bars) for bars in times.seats] if times else [],
        "previous_step": step - 1 if step else None,
        "next_step": step + 1 if step < replay.last_step else None,
        "forms": notation.list_forms(replay.game),
    }


def list_move(
    move: Move, notes: Mapping[int, MoveNote], signs: Sequence[SeatSign]
) -> dict[str, Any]:
    """Return a move as the list of moves shows it."""
    note = notes.get(move.number, NOTHING)
    took = "" if note.took_s is None else format_brief(note.took_s)
    return {"move": move, "value": note.value, "took": took, "sign": signs[move.seat]}


def tell_step(
    match: Match,
    replay: Replay,
    step: int,
    signs: Sequence[SeatSign],
    notes: Mapping[int, MoveNote],
) -> str:
    """Return what happened at a step, and whose turn it is then, in words."""
    frame = replay.frames[step]
    sentence = "After the opening." if replay.opening else "At the start."
    if step:
        move = replay.moves[step - 1]
        note = values.tell_note(notes.get(step, NOTHING))
        sentence = f"{signs[move.seat].name} played {move.name}{note}."
    if step == replay.last_step and match.outcome.is_forfeit:
        guilty = signs[match.outcome.guilty_seat].name
        return f"{sentence} Then {guilty} lost by forfeit: {tell_fault(match)}."
    if frame.to_move == OVER:
        return f"{sentence} {frame.views[0].words.partition('. ')[0].rstrip('.')}."
    if len(signs) == 1:
        return sentence
    return f"{sentence} {signs[frame.to_move].name} is to move."


def write_replay_program(match: Match) -> str:
    """Return Python that plays a recorded match again with the library, decision by decision."""
    board = match.tournament.leaderboard
    configured = f".configured({board.game_parameters!r})" if board.game_parameters else ""
    return "\n".join(
        [
            "from arena.games import registry",
            "",
            f'game = registry.get("{board.game}"){configured}',
            f"state = game.start({match.game_seed}, opening_plies={board.plies})",
            f'for action in "{match.outcome.actions}".split():',
            "    print(state.describe(), state.action_name(int(action)))",
            "    state.apply(int(action))",
            "print(state.describe(), state.returns())",
        ]
    )
