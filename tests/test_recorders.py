"""Two recorders on PostgreSQL share the tournaments, and one takes over what the other left."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest
from redis import Redis

from arena.queues import shard_of
from benchmarks.storm.servers import run_postgres
from launcher.folders import ROOT
from launcher.stack import Stack, start_stack
from tests.commands import command_line

pytestmark = [pytest.mark.slow, pytest.mark.long]
LIMIT_S = 180.0


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(sql).fetchall()


def recorded(url: str) -> dict[int, int]:
    """Return how many matches of each tournament are recorded."""
    return dict(rows(url, "SELECT id, n_done FROM matches_tournament"))


def is_over(url: str, n: int) -> bool:
    """Say whether so many tournaments of forty matches are recorded and there is no other."""
    return list(recorded(url).values()) == [40] * n


def has_tournaments(url: str, n: int) -> bool:
    return len(recorded(url)) == n


def newest_shard(url: str) -> int:
    return shard_of(max(recorded(url)), 2)


def has_results(broker: "Redis", queue: str) -> bool:
    """Say whether results wait in a queue, beside the marks that control sends each second."""
    items: Any = broker.lrange(queue, 0, -1)
    return any(b"results of order" in item for item in items)


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    end = monotonic() + LIMIT_S
    while not is_so():
        assert monotonic() < end, what
        sleep(0.2)


@contextmanager
def evaluating(stack: Stack, *, seed: int) -> Iterator[None]:
    """Have a tournament of forty matches played; the command is gone at the end."""
    command = command_line("evaluate", "--num-matches", "40", "--seed", str(seed))
    with subprocess.Popen(
        command, cwd=ROOT, env=dict(stack.env), stdout=subprocess.DEVNULL
    ) as evaluate:
        try:
            yield
        finally:
            evaluate.kill()  # a signal that it could answer would cancel the tournament


def play_in_both_shards(stack: Stack, url: str, seeds: Iterator[int]) -> None:
    shards = set[int]()
    while shards != {0, 1}:
        n = len(recorded(url)) + 1
        with evaluating(stack, seed=next(seeds)):
            wait_until(partial(is_over, url, n), "a tournament is recorded")
        shards.add(newest_shard(url))


def play_until_results_wait(stack: Stack, url: str, seeds: Iterator[int]) -> None:
    """Play while recorder-2 is away: what the first one records goes on, of the other it waits."""
    broker = Redis.from_url(stack.admin_url("broker"))
    while not has_results(broker, "reports.1"):
        n = len(recorded(url)) + 1
        with evaluating(stack, seed=next(seeds)):
            wait_until(partial(has_tournaments, url, n), "it is scheduled")
            if newest_shard(url):
                wait_until(partial(has_results, broker, "reports.1"), "its results wait")
            else:
                wait_until(partial(is_over, url, n), "it is recorded")


def test_each_records_its_tournaments_and_fewer_take_over_what_is_left(tmp_path: Path) -> None:
    seeds = iter(range(1, 100))
    with run_postgres(tmp_path / "postgres") as url:
        var, settings = tmp_path / "var", {"DATABASE_URL": url}
        with start_stack(var, nodes=1, slots=2, recorders=2, web=True, settings=settings) as stack:
            alive = "SELECT count(*) FROM matches_worker"
            wait_until(lambda: rows(url, alive) == [(1,)], "the node is alive")
            play_in_both_shards(stack, url, seeds)
            stack.supervisor.stop_programs({"recorder-2"}, limit_s=20)
            play_until_results_wait(stack, url, seeds)
            n = len(recorded(url))
            assert recorded(url)[max(recorded(url))] == 0
        with start_stack(var, nodes=1, slots=2, recorders=1, settings=settings):
            wait_until(partial(is_over, url, n), "the rest is recorded")
        # What waited was recorded, not played again.
        done = "SELECT count(*) FROM matches_attempt WHERE ending = 'done'"
        assert rows(url, done) == [(40 * n,)]
