"""The peer: the seed's way on Dask, fairly: pure=False, one gather, the trueskill package."""

import random
from collections.abc import Sequence
from time import perf_counter

import trueskill
from dask.distributed import Client, LocalCluster

RATING_RANGE = 100
MAX_RAND_PROB = 0.3
MAX_TIE_PROB = 0.2


class Agent:
    """An agent of the test game with its hidden level."""

    def __init__(self, level: int) -> None:
        self.level = level


def play(agents: Sequence[Agent]) -> tuple[int, int, int | None]:
    """Play one match of two agents drawn here, as in the seed; 0 first wins, None draw."""
    first, second = random.sample(range(len(agents)), 2)
    gap = agents[first].level - agents[second].level
    result = int(gap < 0)
    if random.random() < MAX_RAND_PROB - abs(gap) / RATING_RANGE:
        if random.random() < MAX_TIE_PROB - abs(gap) / RATING_RANGE:
            return first, second, None
        return first, second, 1 - result
    return first, second, result


def rate(n_agents: int, results: Sequence[tuple[int, int, int | None]]) -> list[trueskill.Rating]:
    """Return the ratings after the results, one update after the other."""
    ratings = [trueskill.Rating() for _ in range(n_agents)]
    for first, second, result in results:
        winner, loser = (first, second) if result != 1 else (second, first)
        ratings[winner], ratings[loser] = trueskill.rate_1vs1(
            ratings[winner], ratings[loser], drawn=result is None
        )
    return ratings


class Peer:
    """A Dask cluster of single-threaded processes on this machine."""

    def __init__(self, n_processes: int) -> None:
        self._cluster = LocalCluster(
            n_workers=n_processes, threads_per_worker=1, dashboard_address=None
        )
        self._client = Client(self._cluster)

    def run(self, n_matches: int, n_agents: int) -> float:
        """Return the seconds from the first submit to the last rating."""
        agents = [Agent(random.randrange(RATING_RANGE)) for _ in range(n_agents)]
        began = perf_counter()
        scattered = self._client.scatter(agents, broadcast=True)
        waiting = [self._client.submit(play, scattered, pure=False) for _ in range(n_matches)]
        rate(n_agents, self._client.gather(waiting))
        return perf_counter() - began

    def close(self) -> None:
        """End the cluster."""
        self._client.close()
        self._cluster.close()
