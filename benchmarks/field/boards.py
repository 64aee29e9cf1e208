"""Leaderboards with their tournaments and ratings; the main one, which is the newest, is last."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from benchmarks.field import drawn as drawing
from benchmarks.field.drawn import Drawn, Floats, Ints
from benchmarks.field.people import GAME, N_OTHER, OTHER_GAMES
from benchmarks.field.writing import moment, write
from matches.models import (
    Entrant,
    Leaderboard,
    PairCount,
    Rating,
    RatingSnapshot,
    Tournament,
)
from matches.store import snapshot_tables

MAIN = "field"
N_ON_SMALL = 6
MATCH_MS = 20
"""So far apart the matches of the main board ended."""
SHARES = (0.6, 0.35, 0.049)
"""Of the matches, by tournament of the main board; the rest is under way."""
OPEN_SHARE = 0.4
"""Of the last tournament's matches."""
N_SNAPSHOTS, N_TABLES = 300, 20
"""As many as in five hours; so many are really packed, the others are the same again."""
MU, SD = 25.0, 8.0


@dataclass(frozen=True)
class Main:
    """The main board: its tournaments by where they begin, how far it is, when it ended."""

    board: Leaderboard
    tournaments: Sequence[Tournament]
    starts: Sequence[int]
    n_matches: int
    n_done: int
    now: datetime

    def at(self, number: int) -> datetime:
        """Return when the match of this place among all ended."""
        return self.now - timedelta(milliseconds=MATCH_MS * (self.n_done - number))

    def tournament_of(self, number: int) -> Tournament:
        """Return the tournament of a match."""
        return next(
            tournament
            for tournament, start in zip(self.tournaments[::-1], self.starts[::-1], strict=True)
            if number >= start
        )


def fill_small(n_boards: int, n_agents: int, *, now: datetime) -> None:
    """Write boards of a few agents, each with a tournament of which little is known."""
    games = [*OTHER_GAMES, *[GAME] * n_boards]
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
        for number, game in enumerate(games)
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
    fields = [_agents_of(number, board, n_agents) for number, board in enumerate(boards)]
    Rating.objects.bulk_create(
        Rating(leaderboard=board, agent_id=agent, mu=MU + place, sd=1.0, n_matches=10, n_wins=place)
        for board, agents in zip(boards, fields, strict=True)
        for place, agent in enumerate(agents)
    )
    Entrant.objects.bulk_create(
        Entrant(tournament=tournament, agent_id=agent, position=place)
        for tournament, agents in zip(tournaments, fields, strict=True)
        for place, agent in enumerate(agents)
    )


def _agents_of(number: int, board: Leaderboard, n_agents: int) -> list[int]:
    """Return the agents of a small board; the first agent is on many of them."""
    if board.game != GAME:
        first = n_agents + 1 + N_OTHER * OTHER_GAMES.index(board.game)
        return list(range(first, first + N_OTHER))
    others = range(2 + number % (n_agents - N_ON_SMALL), n_agents + 1)
    return [1, *others[: N_ON_SMALL - 1]] if number % 5 == 0 else [*others[:N_ON_SMALL]]


def open_main(n_agents: int, drawn: Drawn, *, now: datetime) -> Main:
    """Write the main board with its tournaments and their entrants, without matches."""
    n = len(drawn.first)
    starts = [0, *np.cumsum([int(n * share) for share in SHARES]).tolist()]
    n_done = n - int((n - starts[-1]) * OPEN_SHARE)
    board = Leaderboard.objects.create(
        name=MAIN,
        title="The whole field",
        game=GAME,
        game_version="1",
        next_sequence=n + 1,
        prefix_sequence=n_done,
        n_counted=int(drawn.is_counted[:n_done].sum()),
        n_settled=int(drawn.is_counted[:n_done].sum()),
        results_hash="f" * 64,
        spread=4.0,
        rated_at=now,
    )
    main = Main(board, [], starts, n, n_done, now)
    ends = [*starts[1:], n]
    tournaments = [
        _tournament(main, drawn, place, start, end)
        for place, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]
    for tournament in tournaments:
        places = ((tournament.pk, agent, agent - 1) for agent in range(1, n_agents + 1))
        write(Entrant, ("tournament_id", "agent_id", "position"), places)
    return Main(board, tournaments, starts, n, n_done, now)


def _tournament(main: Main, drawn: Drawn, place: int, start: int, end: int) -> Tournament:
    is_last = end == main.n_matches
    until = min(end, main.n_done)
    return Tournament.objects.create(
        leaderboard=main.board,
        name=f"Season {place + 1}",
        pairing="random",
        n_matches=end - start,
        n_planned=end - start,
        n_done=int(drawn.is_counted[start:until].sum()),
        n_forfeits=int((drawn.is_forfeit & drawn.is_counted)[start:until].sum()),
        n_void=int(drawn.is_void[start:until].sum()),
        n_cancelled=int(drawn.is_cancelled[start:until].sum()),
        n_retried=int(drawn.is_retried[start:until].sum()),
        keeps_trajectories=place == len(SHARES) - 1,
        state=Tournament.State.RUNNING if is_last else Tournament.State.DONE,
        started_at=main.at(start),
        finished_at=None if is_last else main.at(end),
        mean_match_s=0.5,
    )


def rate(main: Main, drawn: Drawn, *, seed: int) -> None:
    """Write ratings near the skills, the pair counts behind them, and their history."""
    rng = np.random.default_rng(seed)
    tallies = drawing.tallies(drawn, main.n_done)
    sd = SD / np.sqrt(1 + tallies[:, 0])
    mu = MU + drawn.skills + sd * rng.normal(size=len(sd))
    names = (
        *("leaderboard_id", "agent_id", "mu", "sd", "live_mu", "live_sigma"),
        *("n_matches", "n_wins", "n_draws", "n_losses", "n_forfeits"),
    )
    write(Rating, names, _ratings(main.board.pk, mu, sd, tallies))
    found = drawing.pairs(drawn, main.n_done)
    counted = zip(found.first + 1, found.second + 1, found.counts, strict=True)
    columns = (
        *("leaderboard_id", "first_id", "second_id"),
        *("n_first_wins", "n_draws", "n_second_wins"),
    )
    write(
        PairCount,
        columns,
        ((main.board.pk, int(a), int(b), *map(int, counts)) for a, b, counts in counted),
    )
    _write_history(main, mu, sd)


def _ratings(board: int, mu: Floats, sd: Floats, tallies: Ints) -> Iterator[tuple[Any, ...]]:
    for agent, (m, s, counts) in enumerate(zip(mu.tolist(), sd.tolist(), tallies, strict=True), 1):
        yield (board, agent, m, s, m + 0.1, 1.2 * s, *map(int, counts))


def _write_history(main: Main, mu: Floats, sd: Floats) -> None:
    packed = [_table(mu, sd, share=(n + 1) / N_TABLES) for n in range(N_TABLES)]
    names = ("leaderboard_id", "taken_at", "n_outcomes", "results_hash", "table")
    span = timedelta(minutes=1)

    def rows() -> Iterator[tuple[Any, ...]]:
        for number in range(N_SNAPSHOTS):
            at = main.now - span * (N_SNAPSHOTS - 1 - number)
            taken = moment(at)
            counted = main.board.n_counted * (number + 1) // N_SNAPSHOTS
            place = number * N_TABLES // N_SNAPSHOTS
            yield (main.board.pk, taken, counted, f"{number:064x}", packed[place])

    write(RatingSnapshot, names, rows())


def _table(mu: Floats, sd: Floats, *, share: float) -> bytes:
    """Return the ratings as they were when this share of the matches was counted."""
    then = MU + (mu - MU) * share
    doubt = sd / np.sqrt(share)
    agents = range(1, len(mu) + 1)
    columns = zip(agents, then.tolist(), doubt.tolist(), strict=True)
    return snapshot_tables.pack_rows([agent, m, s, m + 0.1, 1.2 * s] for agent, m, s in columns)
