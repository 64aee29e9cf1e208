"""Leaderboards with their tournaments and ratings; the main one, which is the newest, is last."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from benchmarks.field.drawn import Drawn, Floats, Ints
from benchmarks.field.people import GAME, N_OTHER, OTHER_GAMES
from benchmarks.field.writing import write_rows
from matches.models import (
    Entrant,
    Leaderboard,
    Rating,
    RatingSnapshot,
    Tournament,
)
from matches.ratings.rerating import rerate
from matches.store import snapshot_tables

MAIN = "field"
N_ON_SMALL = 6
# A call of a list of tournaments works out the ends of some ten: small fields have as many, too.
N_OF_FIRST, ONE_IN = 24, 5
# So far apart the matches of the main board ended.
MATCH_MS = 20
# Of the matches, by tournament of the main board; the rest is under way.
SHARES = (0.6, 0.35, 0.04)
# Of the last tournament's matches.
OPEN_SHARE = 0.4
# As many as in five hours; so many are really packed, the others are the same again.
N_SNAPSHOTS, N_TABLES = 300, 20
MU = 25.0


@dataclass(frozen=True)
class MainBoard:
    """The main board, how far it is, and by match its tournament and when it ended."""

    board: Leaderboard
    tournaments: list[Tournament]
    tournament_ids: Ints
    ended_at: np.ndarray[Any, np.dtype[np.datetime64]]
    n_done: int
    now: datetime

    @property
    def n_matches(self) -> int:
        return len(self.ended_at)


def write_small_boards(n_boards: int, n_agents: int, *, now: datetime) -> None:
    """Write boards of a few agents, each with a tournament of which little is known."""
    boards = Leaderboard.objects.bulk_create(
        Leaderboard(
            name=f"small-{number}",
            title=f"Evening {number}",
            game=game,
            game_version="1",
            is_listed=number % 10 != 1,
            n_counted=10,
            n_settled=10,
            results_hash=f"{number:064x}",
            rated_at=now - timedelta(hours=1),
        )
        for number, game in enumerate([*OTHER_GAMES, *[GAME] * n_boards])
    )
    tournaments = Tournament.objects.bulk_create(
        Tournament(
            leaderboard=board,
            name=f"Round {number}",
            n_matches=10,
            n_planned=10,
            n_done=9,
            n_cancelled=1,
            state=Tournament.State.CANCELLED,
            started_at=now - timedelta(hours=2),
            finished_at=now - timedelta(hours=1),
        )
        for number, board in enumerate(boards)
    )
    entries = [
        (tournament, place, agent)
        for number, tournament in enumerate(tournaments)
        for place, agent in enumerate(_choose_agents(number, tournament, n_agents))
    ]
    Rating.objects.bulk_create(
        Rating(
            leaderboard=tournament.leaderboard, agent_id=agent, mu=MU + place, sd=1.0,
            low=MU + place - 2, high=MU + place + 2, n_matches=10, n_wins=place,
        )
        for tournament, place, agent in entries
    )  # fmt: skip
    Entrant.objects.bulk_create(
        Entrant(tournament=tournament, agent_id=agent, position=place)
        for tournament, place, agent in entries
    )


def _choose_agents(number: int, tournament: Tournament, n_agents: int) -> list[int]:
    """Return the agents of a small board; the first agent is on many of them."""
    game = tournament.leaderboard.game
    if game != GAME:
        first = n_agents + 1 + N_OTHER * OTHER_GAMES.index(game)
        return list(range(first, first + N_OTHER))
    others = range(2 + number % (n_agents - N_ON_SMALL), n_agents + 1)
    has_first = number < N_OF_FIRST or number % ONE_IN == 0
    return [1, *others[: N_ON_SMALL - 1]] if has_first else [*others[:N_ON_SMALL]]


def write_main_board(n_agents: int, drawn: Drawn, *, now: datetime) -> MainBoard:
    """Write the main board with its tournaments and their entrants, without matches."""
    n = len(drawn.first)
    starts = [0, *np.cumsum([int(n * share) for share in SHARES]).tolist()]
    ends = [*starts[1:], n]
    n_done = n - int((n - starts[-1]) * OPEN_SHARE)
    board = Leaderboard.objects.create(
        name=MAIN,
        title="The whole field",
        game=GAME,
        game_version="1",
        next_sequence=n + 1,
        prefix_sequence=n_done,
    )
    # As numpy's moments: a million Python ones would take longer than the rows.
    since = (np.arange(n + 1) - n_done) * np.timedelta64(MATCH_MS, "ms")
    ended_at = np.datetime64(now.astimezone(UTC).replace(tzinfo=None), "us") + since
    tournaments = []
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        here, is_last = slice(start, min(end, n_done)), end == n
        is_counted = drawn.is_counted[here]
        tournament = Tournament.objects.create(
            leaderboard=board,
            name=f"Season {place + 1}",
            pairing="random",
            n_matches=end - start,
            n_planned=end - start,
            n_done=int(is_counted.sum()),
            n_forfeits=int((drawn.is_forfeit[here] & is_counted).sum()),
            n_void=int(drawn.is_void[here].sum()),
            n_cancelled=int(drawn.is_cancelled[here].sum()),
            n_retried=int(drawn.is_retried[here].sum()),
            keeps_trajectories=place == len(SHARES) - 1,
            state=Tournament.State.RUNNING if is_last else Tournament.State.DONE,
            started_at=ended_at[start].item().replace(tzinfo=UTC),
            finished_at=None if is_last else ended_at[end].item().replace(tzinfo=UTC),
            mean_match_s=0.5,
        )
        agents = range(1, n_agents + 1)
        write_rows(
            Entrant, n_agents, tournament_id=tournament.pk, agent_id=agents,
            position=range(n_agents),
        )  # fmt: skip
        tournaments.append(tournament)
    sizes = [end - start for start, end in zip(starts, ends, strict=True)]
    ids = np.repeat([tournament.pk for tournament in tournaments], sizes)
    return MainBoard(board, tournaments, ids, ended_at[:n], n_done, now)


def write_ratings(main: MainBoard, n_agents: int) -> None:
    """Rate the main board by its outcomes, as an operator would, and write a history of it."""
    write_rows(Rating, n_agents, leaderboard_id=main.board.pk, agent_id=range(1, n_agents + 1))
    rerate(main.board, now=main.now)
    main.board.refresh_from_db()
    rated = Rating.objects.filter(leaderboard=main.board).order_by("agent_id")
    mu, sd = np.array(rated.values_list("mu", "sd")).T
    numbers = range(N_SNAPSHOTS)
    # Packing takes longest: fifteen snapshots share a table.
    packed = [_pack_ratings(mu, sd, share=(n + 1) / N_TABLES) for n in range(N_TABLES)]
    write_rows(
        RatingSnapshot,
        N_SNAPSHOTS,
        leaderboard_id=main.board.pk,
        taken_at=[main.now - timedelta(minutes=N_SNAPSHOTS - 1 - number) for number in numbers],
        n_outcomes=[main.board.n_counted * (number + 1) // N_SNAPSHOTS for number in numbers],
        results_hash=[f"{number:064x}" for number in numbers],
        table=[packed[number * N_TABLES // N_SNAPSHOTS] for number in numbers],
    )


def _pack_ratings(mu: Floats, sd: Floats, *, share: float) -> bytes:
    """Return the ratings as they were when this share of the matches was counted."""
    then, doubt = (MU + (mu - MU) * share).tolist(), (sd / np.sqrt(share)).tolist()
    rows = zip(range(1, len(mu) + 1), then, doubt, strict=True)
    return snapshot_tables.pack_rows(
        [agent, m, s, m + 0.1, 1.2 * s, m - 2 * s, m + 2 * s] for agent, m, s in rows
    )
