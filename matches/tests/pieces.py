"""Play orders that store trajectories, and put their pieces as players would."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from io import BytesIO
from uuid import UUID

import msgspec

from arena.games import registry as games
from arena.games.base import OVER, ranks
from arena.messages import Ending, MatchOrder, MatchOrderRow, Reason, ResultRow
from arena.trajectories import Episode, Step, TrajectorySpec, encode_episodes
from matches.artifacts import trajectories
from matches.ledger import recording
from matches.models import Tournament
from matches.tests import factories as make


def episode(order: MatchOrder, row: MatchOrderRow) -> Episode:
    """Return the match played by levels: each seat plays its own, whatever it sees."""
    state = games.get(order.game).start(row.game_seed, opening_plies=order.opening_plies)
    steps = []
    while (seat := state.to_move()) != OVER:
        action = int(order.agents[row.seats[seat]].parameters["level"])
        steps.append(Step(seat, state.observation(seat), state.legal_mask(), action))
        state.apply(action)
    return Episode(row.match, row.game_seed, steps, state.returns())


def put(order: MatchOrder, episodes: Sequence[Episode]) -> str:
    """Store a piece of these episodes; return its hash."""
    piece = encode_episodes(episodes, TrajectorySpec.of_game(games.get(order.game).spec))
    digest = sha256(piece).hexdigest()
    size = len(piece)
    trajectories.store_piece(UUID(order.order), digest, BytesIO(piece), n_bytes=size, now=make.NOW)
    return digest


def result(row: MatchOrderRow, played: Episode, digest: str) -> ResultRow:
    """Return what a player says of a match whose piece is stored."""
    assert played.returns is not None
    return msgspec.structs.replace(
        make.result(row, ranks=ranks(list(played.returns), len(row.seats))),
        actions=" ".join(str(step.action) for step in played.steps),
        trajectory=digest,
    )


def play(
    tournament: Tournament,
    n_matches: int = 1_000,
    *,
    per_piece: int = 3,
    spoil: Callable[[Episode], Episode] = lambda played: played,
) -> MatchOrder:
    """Play the next matches, a piece for every few of them; `spoil` changes what is put."""
    order = make.ordered(tournament, n_matches)
    make.start(order)
    results = []
    for start in range(0, len(order.matches), per_piece):
        rows = order.matches[start : start + per_piece]
        played = [episode(order, row) for row in rows]
        digest = put(order, [spoil(one) for one in played])
        results += [result(row, one, digest) for row, one in zip(rows, played, strict=True)]
    recording.record_report(make.reported(order, results), now=make.NOW)
    tournament.refresh_from_db()
    return order


def forfeit(tournament: Tournament, n_matches: int) -> MatchOrder:
    """Let seat 1 take its player with it in the next matches: no rows are left."""
    order = make.ordered(tournament, n_matches)
    make.start(order)
    report = make.finished(
        order,
        lambda row: make.result(row, ending=Ending.FORFEIT, seat=1, reason=Reason.CRASH),
    )
    recording.record_report(report, now=make.NOW)
    return order
