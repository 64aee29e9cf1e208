"""Greedy matching: the most valuable lineups of agents of whom each sits in one at most."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from arena.pairing.base import COUPLE, Lineup, Standing
from arena.ratings.base import BETA
from arena.ratings.counts import Floats

_NEVER = -np.inf
# Standard deviations beyond which a match tells next to nothing, and never exactly nothing.
_FAR = 8.0


def expected_information(gap: Floats, *, seat: float = 0.0) -> Floats:
    """Return what one match of agents that far apart tells about their difference (1/variance).

    seat: what sitting first is worth: the mean over both seats, as blocks are played.
    """
    information: Floats = (_measure_information(gap + seat) + _measure_information(gap - seat)) / 2
    return information


def _measure_information(gap: Floats) -> Floats:
    z = np.minimum(np.abs(gap) / (np.sqrt(2) * BETA), _FAR)
    # Fisher information of a win or loss about the difference: density^2 / (p (1 - p)).
    density = np.exp(-(z**2)) / (2 * np.pi)
    information: Floats = density / (ndtr(z) * ndtr(-z)) / (2 * BETA**2)
    return information


def is_worth_playing(gap: float, variance: float, n_waiting: int, rng: np.random.Generator) -> bool:
    """Return whether to compare two although some matches are open: the less sure, the rather.

    gap, variance: of their ratings' difference, the variance as if they were independent.
    """
    if n_waiting == 0:
        return True
    gain = float(expected_information(np.array(gap))) * variance
    return bool(rng.random() * (1 + gain * n_waiting) < 1)


def count_in_flight(standing: Standing) -> Floats:
    """Return the number of matches in flight of every two agents: [n, n], symmetric."""
    n = standing.field.n_agents
    table = np.zeros((n, n))
    for (first, second), n_matches in standing.n_in_flight.items():
        table[first, second] += n_matches
        table[second, first] += n_matches
    return table


def count_met(standing: Standing) -> Floats:
    """Return the number of results known of every two agents: [n, n], symmetric."""
    n, counts = standing.field.n_agents, standing.counts
    times = counts.n_first_wins + counts.n_draws + counts.n_second_wins
    table = np.zeros((n, n))
    np.add.at(table, (counts.first, counts.second), times)
    return table + table.T


def match_greedily(value: Floats, n_seats: int) -> list[Lineup]:
    """Return disjoint lineups of n_seats agents, greedily the most valuable next.

    value: [n, n], symmetric, 0 or more, n >= n_seats.
    """
    value = value.copy()
    np.fill_diagonal(value, _NEVER)
    return _match_couples(value) if n_seats == COUPLE else _match_groups(value, n_seats)


def _match_couples(value: Floats) -> list[Lineup]:
    """Match those that are each other's best, over and over: the greedy matching, all at once."""
    # Greedily one by one this takes n passes over the matrix; this way about log n are enough.
    agents, candidates = np.arange(len(value)), list[tuple[float, int, int]]()
    while len(agents) > 1:
        best = value.argmax(axis=1)
        index = np.arange(len(agents))
        first = np.flatnonzero((best[best] == index) & (index < best))
        second = best[first]
        pairs = zip(value[first, second], agents[first], agents[second], strict=True)
        candidates += [(float(v), int(i), int(j)) for v, i, j in pairs]
        left = np.delete(index, np.concatenate([first, second]))
        agents, value = agents[left], value[np.ix_(left, left)]
    candidates.sort(key=lambda pair: -pair[0])
    return [(i, j) for _, i, j in candidates]


def _match_groups(value: Floats, n_seats: int) -> list[Lineup]:
    """Take the best free pair, then add the agents that are worth most beside those chosen."""
    lineups: list[Lineup] = []
    for _ in range(len(value) // n_seats):
        members = [int(i) for i in np.unravel_index(int(value.argmax()), value.shape)]
        while len(members) < n_seats:
            worth: Floats = value[members].sum(axis=0)
            members.append(int(worth.argmax()))
        lineups.append(tuple(members))
        value[members], value[:, members] = _NEVER, _NEVER
    return lineups


def count_agent_results(standing: Standing) -> NDArray[np.float64]:
    """Return how many results each agent has or will have of the matches in flight: [n]."""
    counts = standing.counts
    times = counts.n_first_wins + counts.n_draws + counts.n_second_wins
    n = np.zeros(standing.field.n_agents)
    np.add.at(n, counts.first, times)
    np.add.at(n, counts.second, times)
    for pair, n_matches in standing.n_in_flight.items():
        n[list(pair)] += n_matches
    return n
