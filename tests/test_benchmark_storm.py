"""The storm of `./run chaos --all`, and the oracle that must see what goes wrong in it."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from math import sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist

import pytest

from benchmarks.chaos import is_sound
from benchmarks.storm import oracle
from benchmarks.storm.oracle import Progress
from benchmarks.storm.run import Act, Storm, draw_acts, repeat_kills

SCHEMA = """
CREATE TABLE matches_leaderboard (id, name, draw_probability, n_settled, spread, seat_mu);
CREATE TABLE matches_tournament (n_matches, n_retried, n_refused, finished_at);
CREATE TABLE matches_worker (node, incarnation);
CREATE TABLE matches_match (id, leaderboard_id, sequence, lineup, state, attempt, game_seed);
CREATE TABLE matches_outcome
    (match_id, ranks, returns, is_forfeit, guilty_seat, reason, actions);
CREATE TABLE matches_rating (leaderboard_id, agent_id, n_matches, n_wins, n_draws, n_losses,
    n_forfeits, live_mu, live_sigma, prefix_mu, prefix_sigma, mu, sd);
CREATE TABLE matches_paircount
    (leaderboard_id, first_id, second_id, n_first_wins, n_draws, n_second_wins);
INSERT INTO matches_leaderboard VALUES (1, 'board', 0.1, 1, 5.0, 0.0);
INSERT INTO matches_tournament VALUES (1, 0, 0, 'now');
INSERT INTO matches_worker VALUES ('node-1', 'a');
INSERT INTO matches_match VALUES (1, 1, 1, '7,8', 'done', 1, 5);
INSERT INTO matches_outcome VALUES (1, '0,1', '1.0,0.0', 0, -1, '', '3,4');
INSERT INTO matches_paircount VALUES (1, 7, 8, 1, 0, 0);
"""
NORMAL = NormalDist()


def rating_after_one_match(*, is_winner: bool) -> tuple[float, float]:
    """Return mu and sigma after one match between equals (Herbrich et al., 2006, table 1)."""
    sigma, beta = 25 / 3, 25 / 6
    c = sqrt(2 * (sigma**2 + beta**2))
    margin = NORMAL.inv_cdf((0.1 + 1) / 2) * sqrt(2) * beta / c
    v = NORMAL.pdf(-margin) / NORMAL.cdf(-margin)
    w = v * (v - margin)
    return 25 + (1 if is_winner else -1) * sigma**2 / c * v, sigma * sqrt(1 - sigma**2 / c**2 * w)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(tmp_path / "db")
    connection.executescript(SCHEMA)
    for agent, wins in ((7, 1), (8, 0)):
        mu, sigma = rating_after_one_match(is_winner=bool(wins))
        numbers = (1, agent, 1, wins, 0, 1 - wins, 0, mu, sigma, mu, sigma, mu, 3.0)
        connection.execute(f"INSERT INTO matches_rating VALUES ({','.join('?' * 13)})", numbers)
    connection.commit()
    yield connection
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "db")


def test_it_finds_nothing_wrong_with_a_sound_record(database: object, path: str) -> None:
    assert oracle.read_record(path).faults == []
    assert oracle.read_progress(path) == (1, True, 1, {"node-1": "a"})


@pytest.mark.parametrize(
    ("harm", "fault"),
    [
        ("DELETE FROM matches_outcome", "is done, its outcome is None"),
        ("UPDATE matches_match SET state = 'running'", "is running, its outcome is 0,1"),
        ("INSERT INTO matches_match VALUES (2, 1, 2, '7,8', 'queued', 1, 5)", "was left queued"),
        ("UPDATE matches_tournament SET n_matches = 2", "2 matches were planned, 1 have a row"),
        ("UPDATE matches_paircount SET n_first_wins = 2", "2 counted, 1 outcomes"),
        ("UPDATE matches_rating SET n_wins = 2, n_matches = 2 WHERE agent_id = 7", "counters"),
        ("UPDATE matches_rating SET prefix_mu = 25", "was left behind its prefix"),
        ("UPDATE matches_rating SET live_mu = 28, prefix_mu = 28", "computed again"),
    ],
)
def test_it_sees(database: sqlite3.Connection, path: str, harm: str, fault: str) -> None:
    database.execute(harm)
    database.commit()
    assert any(fault in line for line in oracle.read_record(path).faults)


def test_episodes_of_one_seat_are_counted_by_the_pairs_of_their_seed(
    database: sqlite3.Connection, path: str
) -> None:
    database.executescript("""
        UPDATE matches_tournament SET n_matches = 4;
        INSERT INTO matches_leaderboard VALUES (2, 'walks', 0.1, 3, 5.0, 0.0);
        INSERT INTO matches_match VALUES
            (2, 2, 2, '7', 'done', 1, 6), (3, 2, 3, '8', 'done', 1, 6),
            (4, 2, 4, '9', 'done', 1, 6);
        INSERT INTO matches_outcome VALUES (2, '0', '3.0', 0, -1, '', ''),
            (3, '0', '3.0', 0, -1, '', ''), (4, '0', '', 1, 0, 'crash', '');
        INSERT INTO matches_paircount VALUES
            (2, 7, 8, 0, 1, 0), (2, 7, 9, 1, 0, 0), (2, 8, 9, 1, 0, 0);
        INSERT INTO matches_rating VALUES (2, 7, 1, 1, 1, 0, 0, 25, 8, 25, 8, 25, 3),
            (2, 8, 1, 1, 1, 0, 0, 25, 8, 25, 8, 25, 3), (2, 9, 1, 0, 0, 2, 1, 25, 8, 25, 8, 25, 3);
    """)
    database.commit()
    record = oracle.read_record(path)
    assert record.faults == []
    assert record.n_counted == sum(1 for _ in record.results()) == 4
    database.execute("UPDATE matches_outcome SET returns = '4.0' WHERE match_id = 2")
    database.commit()
    assert any("1 counted, 0 outcomes" in line for line in oracle.read_record(path).faults)
    assert oracle.read_record(path, score_margin=1.0).faults == []


def test_it_sees_a_rating_that_differs_in_the_last_bit(
    database: sqlite3.Connection, path: str
) -> None:
    calm = oracle.read_record(path)
    database.execute("UPDATE matches_rating SET mu = mu + 1e-14 WHERE agent_id = 7")
    database.commit()
    (difference,) = oracle.compare_records(calm, oracle.read_record(path))
    assert difference.startswith("rating ('board', 7)")


def test_a_match_given_up_is_not_sound() -> None:
    figures = {"lost": 0, "void": 0, "contradictions": [], "differences": []}
    assert is_sound(figures)
    assert not is_sound(figures | {"void": 1})
    assert not is_sound(figures | {"differences": ["outcome"]})


def test_each_round_kills_and_stops_every_program() -> None:
    acts = list(islice(draw_acts(["web", "fast", "beat"], Random(1)), 12))
    for begin in (0, 6):
        assert len({(act.program, act.kind) for act in acts[begin : begin + 6]}) == 6
    assert acts == list(islice(draw_acts(["web", "fast", "beat"], Random(1)), 12))


@contextmanager
def started(command: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
    child = subprocess.Popen(command)
    try:
        yield child
    finally:
        child.kill()  # also one that is stopped
        child.wait()


NOTHING = Progress(n_planned=9, is_over=False, n_outcomes=0, incarnations={})


def test_what_is_stopped_goes_on_when_its_time_is_up() -> None:
    with started(["sleep", "60"]) as child:
        acts = iter([Act("web", "SIGSTOP", 5.0), Act("web", "SIGKILL", 0.0)])
        storm = Storm(acts, {"web": child.pid}.get, every_s=10.0)
        storm.do_what_is_due(100.0, NOTHING)
        assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
        storm.do_what_is_due(105.0, NOTHING)
        assert os.WIFCONTINUED(os.waitpid(child.pid, os.WCONTINUED)[1])
        storm.do_what_is_due(110.0, NOTHING)
        assert child.wait() == -9
    assert storm.done == {"web SIGSTOP": 1, "web SIGKILL": 1}


def test_a_broker_is_killed_by_outcomes_and_back_when_there_are_more() -> None:
    with started(["sleep", "60"]) as node, started(["sleep", "60"]) as broker:
        pids = {"node-1": node.pid, "broker": broker.pid}
        storm = Storm(repeat_kills(["node-1"]), pids.get, every_s=100.0, broker_at=(7, 9))
        reported = Progress(n_planned=9, is_over=False, n_outcomes=6, incarnations={"node-1": "a"})
        storm.do_what_is_due(100.0, reported)
        assert node.wait() == -9
        storm.do_what_is_due(101.0, reported._replace(n_outcomes=7))
        assert broker.wait() == -9
        assert storm.recoveries_s == []
        pids.clear()
        storm.do_what_is_due(103.0, reported._replace(n_outcomes=8, incarnations={"node-1": "b"}))
    assert storm.recoveries_s == [3.0, 2.0]
    assert list(storm.broker_at) == [9]
    assert storm.done == {"node-1 SIGKILL": 1, "broker SIGKILL": 1}
