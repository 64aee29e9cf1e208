"""Says what an installation recorded, from its database alone.

Plain SQL and arithmetic of its own: it shares no code with the services, so that a fault of theirs
cannot hide itself here. The live rating is computed again by the trueskill package.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import psycopg
import trueskill

# Name of a leaderboard, and the sequence number of a match or the id of an agent on it.
Key = tuple[str, int]
Row = tuple[Any, ...]

MU, SIGMA = 25.0, 25.0 / 3
# With exact arithmetic in the package; its own series are off by more where the gap is large.
TOLERANCE = 1e-8

MATCHES = """
SELECT b.name, m.sequence, m.lineup, m.state, m.attempt, o.ranks, m.game_seed, o.returns,
       o.is_forfeit, o.guilty_seat, o.reason, o.actions
FROM matches_match m JOIN matches_leaderboard b ON b.id = m.leaderboard_id
LEFT JOIN matches_outcome o ON o.match_id = m.id ORDER BY b.name, m.sequence
"""
RATINGS = """
SELECT b.name, r.agent_id, r.n_matches, r.n_wins, r.n_draws, r.n_losses, r.n_forfeits,
       r.live_mu, r.live_sigma, r.prefix_mu, r.prefix_sigma, r.mu, r.sd
FROM matches_rating r JOIN matches_leaderboard b ON b.id = r.leaderboard_id
ORDER BY b.name, r.agent_id
"""
PAIRS = """
SELECT b.name, p.first_id, p.second_id, p.n_first_wins, p.n_draws, p.n_second_wins
FROM matches_paircount p JOIN matches_leaderboard b ON b.id = p.leaderboard_id
"""
BOARDS = "SELECT name, draw_probability, n_settled, spread, seat_mu FROM matches_leaderboard"
PLANNED = "SELECT SUM(n_matches), SUM(n_retried), SUM(n_refused) FROM matches_tournament"
PROGRESS = """
SELECT (SELECT SUM(n_matches) FROM matches_tournament),
       (SELECT COUNT(*) FROM matches_tournament WHERE finished_at IS NULL),
       (SELECT COUNT(*) FROM matches_outcome), (SELECT SUM(n_settled) FROM matches_leaderboard)
"""
NODES = "SELECT node, incarnation FROM matches_worker"


class Progress(NamedTuple):
    """How far all tournaments are, rated and all, and which run of each node reported last."""

    n_planned: int
    is_over: bool
    n_outcomes: int
    incarnations: dict[str, str]


class Result(NamedTuple):
    """What one of two agents did against the other; is_scored: by scores on one game seed."""

    board: str
    first: int
    second: int
    sign: int
    is_scored: bool = False


@dataclass
class Record:
    """What one run left in its database, and what is wrong with it by itself."""

    n_planned: int
    n_retried: int
    n_refused: int
    # Lineup, ranks, game seed, returns, forfeit, guilty seat, reason and actions of every match
    # that is done.
    outcomes: dict[Key, Row] = field(default_factory=dict)
    # By board and agent: every number of the rating, counters first.
    ratings: dict[Key, Row] = field(default_factory=dict)
    boards: dict[str, Row] = field(default_factory=dict)
    n_void: int = 0
    n_attempts: int = 0
    # Results in the pair counts of all boards.
    n_counted: int = 0
    faults: list[str] = field(default_factory=list)
    # Of games of one seat: how far two scores may lie apart that count as equal.
    score_margin: float = 0.0

    def results(self) -> Iterator[Result]:
        """Yield the board, two agents and the sign of the first one's result.

        By sequence number on each board: the order in which the live rating counts them. Of games
        of one seat, after them, each two agents on one game seed.
        """
        blocks: dict[Key, list[tuple[int, float]]] = defaultdict(list)
        for (board, _), (lineup, ranks, seed, returns, *_) in sorted(self.outcomes.items()):
            agents = tuple(map(int, lineup.split(",")))
            if len(agents) == 1:
                blocks[board, seed].append((agents[0], float(returns or "-inf")))
                continue
            rank, other = map(int, ranks.split(","))
            yield Result(board, agents[0], agents[1], (rank < other) - (rank > other))
        for (board, _), played in blocks.items():
            for (first, score), (second, other_score) in combinations(sorted(played), 2):
                # Two forfeits are equal: their difference is no number.
                is_apart = abs(score - other_score) > self.score_margin
                sign = is_apart * ((score > other_score) - (score < other_score))
                yield Result(board, first, second, sign, is_scored=True)


@contextmanager
def connect(url: str) -> Iterator[Any]:
    """Open a database for reading: the path of an SQLite file, or the address of PostgreSQL."""
    if "://" in url:
        with psycopg.connect(url, autocommit=True) as postgres:
            yield postgres
        return
    with closing(sqlite3.connect(f"file:{url}?mode=ro", uri=True, timeout=20)) as sqlite:
        yield sqlite


def read_progress(url: str) -> Progress:
    with connect(url) as database:
        n_planned, n_unfinished, n_outcomes, n_settled = database.execute(PROGRESS).fetchone()
        incarnations = dict(database.execute(NODES).fetchall())
    is_over = not n_unfinished and n_settled == n_outcomes
    return Progress(int(n_planned or 0), is_over, int(n_outcomes), incarnations)


def read_record(url: str, *, score_margin: float = 0.0) -> Record:
    """Return what was recorded, with every contradiction in it; score_margin: see Record."""
    with connect(url) as database:
        n_planned, n_retried, n_refused = map(int, database.execute(PLANNED).fetchone())
        record = Record(n_planned, n_retried, n_refused, score_margin=score_margin)
        matches = database.execute(MATCHES).fetchall()
        pairs = database.execute(PAIRS).fetchall()
        record.ratings = {(row[0], row[1]): row[2:] for row in database.execute(RATINGS)}
        record.boards = {row[0]: row[1:] for row in database.execute(BOARDS)}
    if len(matches) != record.n_planned:
        record.faults.append(f"{record.n_planned} matches were planned, {len(matches)} have a row")
    for board, sequence, lineup, state, attempt, ranks, *more in matches:
        record.n_attempts += attempt
        record.n_void += state == "void"
        if (state == "done") != (ranks is not None):
            record.faults.append(f"{board} {sequence} is {state}, its outcome is {ranks}")
        elif state not in {"done", "void"}:
            record.faults.append(f"{board} {sequence} was left {state}")
        if ranks is not None:
            record.outcomes[board, sequence] = (lineup, ranks, *more)
    record.n_counted = sum(sum(numbers) for _, _, _, *numbers in pairs)
    record.faults += [
        *find_wrong_pairs(record, pairs),
        *find_wrong_counters(record),
        *find_wrong_live_ratings(record),
    ]
    return record


def find_wrong_pairs(record: Record, pairs: list[Row]) -> Iterator[str]:
    """Yield the pair counts that are not those of the outcomes."""
    # A pair that is in neither table has no entry: so absence is compared too.
    counted = Counter(result[:4] for result in record.results())
    stored = {
        (board, first, second, result): n
        for board, first, second, *numbers in pairs
        for result, n in zip((1, 0, -1), numbers, strict=True)
        if n
    }
    for place in sorted(stored.keys() | counted.keys()):
        if stored.get(place, 0) != counted[place]:
            yield f"{place}: {stored.get(place, 0)} counted, {counted[place]} outcomes"


def find_wrong_counters(record: Record) -> Iterator[str]:
    """Yield the agents whose wins, draws and losses are not those of the outcomes."""
    results: Counter[tuple[str, int, int]] = Counter()
    for board, first, second, sign, _ in record.results():
        results.update([(board, first, sign), (board, second, -sign)])
    n_played = Counter(
        (board, int(agent))
        for (board, _), (lineup, *_) in record.outcomes.items()
        for agent in lineup.split(",")
    )
    for (board, agent), row in record.ratings.items():
        wins, draws, losses = (results[board, agent, result] for result in (1, 0, -1))
        if row[:4] != (n_played[board, agent], wins, draws, losses):
            yield f"{board}, agent {agent}: counters {row[:4]}, {wins}/{draws}/{losses}"


def find_wrong_live_ratings(record: Record) -> Iterator[str]:
    """Yield the agents whose live rating is not what the package makes of the outcomes."""
    # Its default backend is good to seven digits only, so that the exact one is taken.
    systems = {
        board: trueskill.TrueSkill(MU, SIGMA, SIGMA / 2, 0.0, row[0], backend="mpmath")
        for board, row in record.boards.items()
    }
    ratings: dict[Key, trueskill.Rating] = {}
    for board, first, second, sign, is_scored in record.results():
        if is_scored:
            continue  # it has no live rating
        winner, loser = (board, first), (board, second)
        if sign < 0:
            winner, loser = loser, winner
        sides = [ratings.get(key, systems[board].create_rating()) for key in (winner, loser)]
        ratings[winner], ratings[loser] = trueskill.rate_1vs1(
            *sides, drawn=sign == 0, env=systems[board]
        )
    for (board, agent), rating in ratings.items():
        live_mu, live_sigma, prefix_mu, prefix_sigma = record.ratings[board, agent][5:9]
        if (live_mu, live_sigma) != (prefix_mu, prefix_sigma):
            yield f"{board}, agent {agent}: the live rating was left behind its prefix"
        if max(abs(live_mu - rating.mu), abs(live_sigma - rating.sigma)) > TOLERANCE:
            yield f"{board}, agent {agent}: live {live_mu} ± {live_sigma}, computed again {rating}"


def compare_records(calm: Record, stormy: Record) -> list[str]:
    """Return every outcome, rating and fitted number in which two runs differ, to the last bit."""
    tables: list[tuple[str, Mapping[Any, Row], Mapping[Any, Row]]] = [
        ("outcome", calm.outcomes, stormy.outcomes),
        ("rating", calm.ratings, stormy.ratings),
        ("board", calm.boards, stormy.boards),
    ]
    return [
        f"{name} {key}: {undisturbed.get(key)} undisturbed, {disturbed.get(key)} disturbed"
        for name, undisturbed, disturbed in tables
        for key in sorted(undisturbed.keys() | disturbed.keys())
        if undisturbed.get(key) != disturbed.get(key)
    ]
