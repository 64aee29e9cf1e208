"""Matches with seats, attempts, outcomes, orders and pieces of trajectories."""

from hashlib import sha256
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from arena.games import registry as games
from arena.games.base import OVER
from arena.queues import play_queue
from benchmarks.field.boards import MainBoard
from benchmarks.field.drawn import DRAW, FIRST_WINS, Drawn
from benchmarks.field.people import GAME, N_OTHER, OTHER_GAMES, node_name
from benchmarks.field.writing import write_rows
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

ORDER_SIZE = 200
N_GAMES, N_LONG_GAMES = 200, 12
N_UNCOUNTED = 50
# Of the open matches; the others are pending.
IN_FLIGHT_SHARE = 0.2


class Recorded(NamedTuple):
    """The seed and the moves of a game, as an outcome has them."""

    game_seed: int
    actions: str
    n_steps: int


def play_at_random(game: str, n_games: int, *, seed: int) -> list[Recorded]:
    """Return games that were really played, by two who draw their moves: they can be replayed."""
    rng, rules, played = Random(seed), games.get(game), []
    for _ in range(n_games):
        game_seed = rng.getrandbits(32)
        state = rules.start(game_seed, opening_plies=rules.spec.opening_plies)
        while state.to_move() != OVER:
            state.apply(rng.choice(list(state.legal_actions())))
        actions = list(state.actions)
        played.append(Recorded(game_seed, " ".join(map(str, actions)), len(actions)))
    return played


def write_matches(main: MainBoard, drawn: Drawn, *, seed: int) -> None:
    """Write all matches of the main board, then a few long ones of the other games."""
    # Two hundred games serve for all blocks: a replay costs the same.
    recorded = play_at_random(GAME, N_GAMES, seed=seed)
    _write_orders(main)
    _write_planned(main, drawn, recorded)
    _write_outcomes(main, drawn, recorded)
    _write_attempts(main, drawn, recorded)
    _write_pieces(main)
    for game in OTHER_GAMES:
        _write_long(game, n_agents=len(drawn.skills))


def _games_of(numbers: np.ndarray, recorded: list[Recorded]) -> list[Recorded]:
    """Return the game of each match: both matches of a block are of one seed."""
    return [recorded[block] for block in (numbers // 2 % N_GAMES).tolist()]


def _nodes_of(orders: np.ndarray) -> list[str]:
    return [node_name(order % 20) for order in orders.tolist()]


def _write_orders(main: MainBoard) -> None:
    starts = np.arange(0, main.n_matches, ORDER_SIZE)
    numbers, begun = starts // ORDER_SIZE + 1, main.ended_at[starts]
    nodes, is_open = _nodes_of(numbers), starts + ORDER_SIZE > main.n_done
    closed = (begun + np.timedelta64(4, "s")).tolist()
    write_rows(
        Order,
        len(starts),
        id=numbers,
        uuid=[UUID(int=number) for number in numbers.tolist()],
        tournament_id=main.tournament_ids[starts],
        queue=[play_queue(node) for node in nodes],
        n_matches=ORDER_SIZE,
        state=np.where(is_open, "playing", "closed"),
        node=nodes,
        created_at=begun,
        started_at=begun,
        deadline_at=begun + np.timedelta64(1, "h"),
        closed_at=[None if still else at for still, at in zip(is_open, closed, strict=True)],
    )


def _write_planned(main: MainBoard, drawn: Drawn, recorded: list[Recorded]) -> None:
    """Write the matches, in whatever state they are, and their seats."""
    n = main.n_matches
    numbers = np.arange(n)
    # The newest matches are those not played yet.
    is_open = numbers >= main.n_done
    # One queued and one running at least: pages of each are compared with those of more.
    n_in_flight = max(2, int((n - main.n_done) * IN_FLIGHT_SHARE))
    is_pending = numbers >= main.n_done + n_in_flight
    is_void, is_cancelled = drawn.is_void & ~is_open, drawn.is_cancelled & ~is_open
    is_sent = ~is_pending & ~is_cancelled
    lineups = zip((drawn.first + 1).tolist(), (drawn.second + 1).tolist(), strict=True)
    orders = zip(is_sent.tolist(), (numbers // ORDER_SIZE + 1).tolist(), strict=True)
    in_flight = np.where(numbers % 2, "running", "queued")
    write_rows(
        Match,
        n,
        id=numbers + 1,
        leaderboard_id=main.board.pk,
        tournament_id=main.tournament_ids,
        sequence=numbers + 1,
        block=0,
        rotation=numbers % 2,
        game_seed=[game.game_seed for game in _games_of(numbers, recorded)],
        lineup=[f"{first},{second}" for first, second in lineups],
        state=np.select(
            [is_pending, is_open, is_void, is_cancelled],
            ["pending", in_flight, "void", "cancelled"],
            "done",
        ),
        attempt=is_sent.astype(int) + (is_sent & drawn.is_retried),
        order_id=[order if sent else None for sent, order in orders],
        void_reason=np.where(is_void, "expired", ""),
    )
    write_rows(
        Seat,
        2 * n,
        match_id=np.repeat(numbers + 1, 2),
        seat=np.tile([0, 1], n),
        agent_id=np.column_stack((drawn.first, drawn.second)).ravel() + 1,
    )


def _write_outcomes(main: MainBoard, drawn: Drawn, recorded: list[Recorded]) -> None:
    done = np.flatnonzero(drawn.is_counted[: main.n_done])
    is_forfeit, result = drawn.is_forfeit[done], drawn.result[done]
    write_rows(
        Outcome,
        len(done),
        match_id=done + 1,
        ranks=np.select([result == FIRST_WINS, result == DRAW], ["0,1", "0,0"], "1,0"),
        is_forfeit=is_forfeit,
        guilty_seat=np.where(is_forfeit, drawn.losing_seat[done], -1),
        reason=np.where(is_forfeit, "crash", ""),
        attempt=1 + drawn.is_retried[done],
        actions=[game.actions for game in _games_of(done, recorded)],
        recorded_at=main.ended_at[done],
    )


def _write_attempts(main: MainBoard, drawn: Drawn, recorded: list[Recorded]) -> None:
    """Write the attempts of closed matches; some were interrupted and tried again."""
    numbers = np.arange(main.n_done)
    interrupted = numbers[drawn.is_retried[: main.n_done]]
    ended = numbers[~drawn.is_cancelled[: main.n_done]]
    matches = np.concatenate((interrupted, ended))
    is_first = np.arange(len(matches)) < len(interrupted)
    # In the order of the matches, an interrupted attempt before the one that ended its match.
    order = np.argsort(matches, kind="stable")
    matches, is_first = matches[order], is_first[order]
    is_void, is_forfeit = drawn.is_void[matches], drawn.is_forfeit[matches]
    which, endings = [is_first, is_void, is_forfeit], ["interrupted", "expired", "forfeit"]
    n_steps = np.array([game.n_steps for game in _games_of(matches, recorded)])
    write_rows(
        Attempt,
        len(matches),
        match_id=matches + 1,
        number=np.select(which[:2], [1, 2], 1 + drawn.is_retried[matches]),
        ending=np.select(which, endings, "done"),
        reason=np.select(which, ["preempted", "expired", "crash"], ""),
        seat=np.select(which, [-1, -1, drawn.losing_seat[matches]], -1),
        detail=np.select(which, ["", "no report came", "ValueError: no move"], ""),
        node=_nodes_of(matches // ORDER_SIZE + 1),
        n_steps=np.select(which[:2], [7, 0], n_steps),
        duration_ms=np.select(which[:2], [900, 0], 20 * n_steps),
        ended_at=main.ended_at[matches],
    )


def leave_uncounted(main: MainBoard) -> None:
    """Leave the work to the rater that it has between two of its rounds."""
    done = Match.objects.filter(leaderboard=main.board, state="done").order_by("-sequence")
    ids = list(done.values_list("pk", flat=True)[1 : N_UNCOUNTED + 1])
    write_rows(Uncounted, len(ids), match_id=ids, leaderboard_id=main.board.pk, sequence=ids)


def _write_pieces(main: MainBoard) -> None:
    """Write the pieces of the one tournament that keeps its trajectories."""
    tournament = next(
        tournament for tournament in main.tournaments if tournament.keeps_trajectories
    )
    numbers = range(1, tournament.n_matches // 10 + 1)
    write_rows(
        TrajectoryPiece,
        len(numbers),
        tournament_id=tournament.pk,
        order=[UUID(int=number) for number in numbers],
        sha256=[sha256(b"piece %d" % number).hexdigest() for number in numbers],
        n_bytes=2_000_000,
        created_at=main.now,
    )


def _write_long(game: str, *, n_agents: int) -> None:
    """Write a few whole games of a game whose replay takes long."""
    tournament = Tournament.objects.get(leaderboard=Leaderboard.objects.get(game=game))
    first, ended_at = n_agents + 1 + N_OTHER * OTHER_GAMES.index(game), tournament.finished_at
    assert ended_at, "tournaments of the small boards are over"
    recorded = play_at_random(game, N_LONG_GAMES, seed=tournament.pk)
    for number, (game_seed, actions, n_steps) in enumerate(recorded, 1):
        seats = (first + number, first + number + 1)
        match = Match.objects.create(
            leaderboard=tournament.leaderboard, tournament=tournament, sequence=number, block=0,
            rotation=0, game_seed=game_seed, lineup=",".join(map(str, seats)), state="done",
            attempt=1,
        )  # fmt: skip
        for seat, agent in enumerate(seats):
            Seat.objects.create(match=match, seat=seat, agent_id=agent)
        ended: dict[str, Any] = {"match": match, "recorded_at": ended_at, "actions": actions}
        Outcome.objects.create(ranks="0,1", attempt=1, **ended)
        Attempt.objects.create(
            match=match, number=1, ending="done", n_steps=n_steps, ended_at=ended_at
        )
