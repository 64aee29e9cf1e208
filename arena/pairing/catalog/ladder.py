"""Ladder: neighbours on the leaderboard meet, those first that met least."""

import numpy as np

from arena.pairing.adaptive import Adaptive
from arena.pairing.base import Lineup, Standing
from arena.ratings.counts import Floats, Ints


class _Ladder(Adaptive):
    id = "ladder"
    title = "Ladder"

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        order = np.lexsort((rng.random(len(standing.mu)), -standing.mu))
        n_seats = standing.field.n_seats
        rungs = [order[at : at + n_seats].tolist() for at in range(len(order) - n_seats + 1)]
        n_met = _count_met(standing, order, n_seats)
        chosen: list[Lineup] = []
        while len(chosen) < n_blocks:
            # Noise below 1 breaks ties between rungs that met as often.
            paired: set[int] = set()
            disjoint: list[int] = []
            for at in np.argsort(n_met + rng.random(len(n_met))).tolist():
                places = range(at, at + n_seats)
                if paired.isdisjoint(places):
                    paired.update(places)
                    disjoint.append(at)
            disjoint = disjoint[: n_blocks - len(chosen)]
            n_met[disjoint] += n_seats
            chosen += [tuple(rungs[at]) for at in disjoint]
        return chosen


def _count_met(standing: Standing, order: Ints, n: int) -> Floats:
    """Return for each rung how often its first met its last: results and matches in flight."""
    counts = standing.counts
    times = counts.n_first_wins + counts.n_draws + counts.n_second_wins
    place = np.argsort(order)
    n_met = np.zeros(len(order) - n + 1)
    first, second = place[counts.first], place[counts.second]
    # A rung is n neighbours: whether they met is asked of its two ends.
    is_rung = np.abs(first - second) == n - 1
    np.add.at(n_met, np.minimum(first, second)[is_rung], times[is_rung])
    for (i, j), n_matches in standing.n_in_flight.items():
        if abs(place[i] - place[j]) == n - 1:
            n_met[min(place[i], place[j])] += n_matches
    return n_met


PAIRING = _Ladder()
