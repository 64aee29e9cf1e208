"""Matches with seats, attempts, outcomes, orders and pieces of trajectories."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from arena.messages import play_queue
from benchmarks.field.boards import Main
from benchmarks.field.drawn import DRAW, FIRST_WINS, Drawn
from benchmarks.field.people import GAME, N_OTHER, OTHER_GAMES
from benchmarks.field.recorded import Recorded, play
from benchmarks.field.writing import moment, stored, write
from matches.models import (
    Attempt,
    Leaderboard,
    Match,
    Order,
    Outcome,
    Seat,
    Tournament,
    TrajectoryPiece,
    Uncounted,
)

A_ORDER = 200
N_GAMES, N_LONG_GAMES = 200, 12
N_UNCOUNTED = 50
IN_FLIGHT_SHARE = 0.2
"""Of the open matches; the others are pending."""
RANKS = {FIRST_WINS: "0,1", DRAW: "0,0"}
_SECOND_WINS = "1,0"
Values = tuple[Any, ...]


def fill(main: Main, drawn: Drawn, *, seed: int) -> None:
    """Write all matches of the main board, then a few long ones of the other games."""
    games = play(GAME, N_GAMES, seed=seed)
    _write_orders(main)
    write(Match, _MATCH, _matches(main, drawn, games))
    write(Seat, ("match_id", "seat", "agent_id"), _seats(drawn))
    write(Outcome, _OUTCOME, _outcomes(main, drawn, games))
    write(Attempt, _ATTEMPT, _attempts(main, drawn, games))
    _write_pieces(main)
    Uncounted.objects.bulk_create(
        Uncounted(match_id=number, leaderboard=main.board, sequence=number)
        for number in range(max(1, main.n_done - N_UNCOUNTED), main.n_done)
        if drawn.is_counted[number - 1]
    )
    for place, game in enumerate(OTHER_GAMES):
        _write_long(game, main.n_matches + place * N_LONG_GAMES, n_agents=len(drawn.skills))


def _write_orders(main: Main) -> None:
    names = (
        *("id", "uuid", "tournament_id", "queue", "n_matches", "state", "node"),
        *("created_at", "started_at", "deadline_at", "closed_at"),
    )

    def rows() -> Iterator[Values]:
        for number, start in enumerate(range(0, main.n_matches, A_ORDER), 1):
            at = main.at(start)
            is_open = start + A_ORDER > main.n_done
            begun, ended, deadline = (moment(at + timedelta(seconds=s)) for s in (0, 4, 3_600))
            yield (
                *(number, stored(Order, "uuid", UUID(int=number)), main.tournament_of(start).pk),
                *(play_queue(_node(number)), A_ORDER),
                *("playing" if is_open else "closed", _node(number)),
                *(begun, begun, deadline, None if is_open else ended),
            )

    write(Order, names, rows())


def _node(number: int) -> str:
    return f"node-{number % 20:04}.europe-west4-b.example"


_MATCH = (
    *("id", "leaderboard_id", "tournament_id", "sequence", "block", "rotation"),
    *("game_seed", "lineup", "needs", "state", "attempt", "order_id", "void_reason"),
)


def _matches(main: Main, drawn: Drawn, games: Sequence[Recorded]) -> Iterator[Values]:
    cpu = Match.Needs.CPU.value
    lineups = zip(drawn.first.tolist(), drawn.second.tolist(), strict=True)
    tournament, ends = 0, [*main.starts[1:], main.n_matches]
    for number, (first, second) in enumerate(lineups):
        tournament += number >= ends[tournament]
        state = _state(main, drawn, number)
        is_sent = state not in ("pending", "cancelled")
        yield (
            *(number + 1, main.board.pk, main.tournaments[tournament].pk, number + 1, 0),
            *(number % 2, games[number // 2 % N_GAMES].game_seed, f"{first + 1},{second + 1}"),
            *(cpu, state, int(is_sent) + int(is_sent and drawn.is_retried[number])),
            number // A_ORDER + 1 if is_sent else None,
            "expired" if state == "void" else "",
        )


def _state(main: Main, drawn: Drawn, number: int) -> str:
    if number >= main.n_done + (main.n_matches - main.n_done) * IN_FLIGHT_SHARE:
        return "pending"
    if number >= main.n_done:
        return "running" if number % 2 else "queued"
    if drawn.is_void[number]:
        return "void"
    return "cancelled" if drawn.is_cancelled[number] else "done"


def _seats(drawn: Drawn) -> Iterator[Values]:
    lineups = zip(drawn.first.tolist(), drawn.second.tolist(), strict=True)
    for number, (first, second) in enumerate(lineups, 1):
        yield (number, 0, first + 1)
        yield (number, 1, second + 1)


_OUTCOME = (
    *("match_id", "ranks", "is_forfeit", "guilty_seat", "reason", "attempt"),
    *("actions", "trajectory", "recorded_at"),
)


def _outcomes(main: Main, drawn: Drawn, games: Sequence[Recorded]) -> Iterator[Values]:
    results, forfeits = drawn.result.tolist(), drawn.is_forfeit.tolist()
    for number in drawn.is_counted[: main.n_done].nonzero()[0].tolist():
        is_forfeit = forfeits[number]
        yield (
            *(number + 1, RANKS.get(results[number], _SECOND_WINS), is_forfeit),
            *(_loser(results[number]) if is_forfeit else -1, "crash" if is_forfeit else ""),
            1 + int(drawn.is_retried[number]),
            *(games[number // 2 % N_GAMES].actions, ""),
            moment(main.at(number)),
        )


def _loser(result: int) -> int:
    return 1 if result == FIRST_WINS else 0


_ATTEMPT = (
    *("match_id", "number", "ending", "reason", "seat", "detail", "node"),
    *("n_steps", "duration_ms", "ended_at"),
)


def _attempts(main: Main, drawn: Drawn, games: Sequence[Recorded]) -> Iterator[Values]:
    results, forfeits = drawn.result.tolist(), drawn.is_forfeit.tolist()
    is_counted = drawn.is_counted.tolist()
    for number in range(main.n_done):
        at = moment(main.at(number))
        node = _node(number // A_ORDER + 1)
        if drawn.is_retried[number]:
            yield (number + 1, 1, "interrupted", "preempted", -1, "", node, 7, 900, at)
        if drawn.is_void[number]:
            yield (number + 1, 2, "expired", "expired", -1, "no report came", node, 0, 0, at)
        elif is_counted[number]:
            ended: Values = ("done", "", -1, "")
            if forfeits[number]:
                ended = ("forfeit", "crash", _loser(results[number]), "ValueError: no move")
            n_steps = games[number // 2 % N_GAMES].n_steps
            again = 1 + int(drawn.is_retried[number])
            yield (number + 1, again, *ended, node, n_steps, 20 * n_steps, at)


def _write_pieces(main: Main) -> None:
    """Write the pieces of the one tournament that keeps its trajectories."""
    tournament = next(one for one in main.tournaments if one.keeps_trajectories)
    names = ("tournament_id", "order", "sha256", "n_bytes", "created_at")
    at = moment(main.now)
    write(
        TrajectoryPiece,
        names,
        (
            (
                *(tournament.pk, stored(TrajectoryPiece, "order", UUID(int=number))),
                *(sha256(b"piece %d" % number).hexdigest(), 2_000_000, at),
            )
            for number in range(1, tournament.n_matches // 10 + 1)
        ),
    )


def _write_long(game: str, after: int, *, n_agents: int) -> None:
    """Write a few whole games of a game whose replay takes long."""
    board = Leaderboard.objects.get(game=game)
    tournament = Tournament.objects.get(leaderboard=board)
    first = n_agents + 1 + N_OTHER * OTHER_GAMES.index(game)
    ended_at = tournament.finished_at
    assert ended_at is not None
    for number, recorded in enumerate(play(game, N_LONG_GAMES, seed=after), 1):
        agents = [first + number, first + number + 1]
        match = Match.objects.create(
            id=after + number,
            leaderboard=board,
            tournament=tournament,
            sequence=number,
            block=0,
            rotation=0,
            game_seed=recorded.game_seed,
            lineup=",".join(map(str, agents)),
            state=Match.State.DONE,
            attempt=1,
        )
        for seat, agent in enumerate(agents):
            Seat.objects.create(match=match, seat=seat, agent_id=agent)
        Outcome.objects.create(
            match=match, ranks="0,1", attempt=1, actions=recorded.actions, recorded_at=ended_at
        )
        Attempt.objects.create(
            match=match, number=1, ending="done", n_steps=recorded.n_steps, ended_at=ended_at
        )
