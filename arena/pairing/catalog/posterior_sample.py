"""Posterior sample: draw one possible truth, sort the agents by it and pair neighbours.

Needs no matrix of pairs, so it is for large fields. With `top` only the best of each sample are
paired: the shortest way to the question which agent is best. With `edge` only those at the rank
that a top k turns on: the last that is in and the first that is out.
"""

from collections.abc import Iterator

import numpy as np

from arena.pairing.adaptive import Adaptive
from arena.pairing.base import Lineup, Standing
from arena.pairing.matching import is_worth_playing
from arena.parameters import Parameter
from arena.ratings.counts import Floats
from arena.ratings.samples import Sampler

# How often a draw may be refused because its pairs have matches in flight.
_N_TRIES = 4


class _PosteriorSample(Adaptive):
    id = "posterior_sample"
    title = "Neighbours in a posterior sample"
    parameters = (
        Parameter("top", 0, "pair only so many of the best of each sample; 0: all", 0, 10_000),
        Parameter("edge", 0, "pair only ranks k and k + 1 of each sample; 0: all", 0, 10_000),
    )

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        chosen: list[Lineup] = []
        waiting = dict(standing.n_in_flight)
        samples = self._draw_samples(standing, rng)
        n_refused = 0
        while len(chosen) < n_blocks:
            sample = next(samples)
            n_seats = standing.field.n_seats
            if edge := self.number("edge"):
                # The agents on both sides of the edge, as many above as below.
                first = min(max(edge - n_seats // 2, 0), len(sample) - n_seats)
                drawn = [tuple(np.argsort(-sample)[first : first + n_seats].tolist())]
            else:
                drawn = list(self._pair_neighbours(standing, sample, rng))
            # After some refusals in a row all are taken: the blocks asked for must come.
            played = drawn
            if n_refused < _N_TRIES:
                played = [
                    lineup for lineup in drawn if _is_worth_playing(lineup, standing, waiting, rng)
                ]
            n_refused = 0 if played else n_refused + 1
            chosen += played
            for pair in (pair for lineup in played for pair in _list_pairs(lineup)):
                waiting[pair] = waiting.get(pair, 0) + n_seats
        return chosen[:n_blocks]

    def _draw_samples(self, standing: Standing, rng: np.random.Generator) -> Iterator[Floats]:
        """Yield samples; of a large field, where each gives a few pairs only, independent ones.

        A joint sample of 10,000 agents takes 40 ms, and hundreds would be asked for at a time.
        """
        gives_few = self.number("top") or self.number("edge")
        if standing.covariance is None and gives_few:
            while True:
                yield rng.normal(standing.mu, standing.sd)
        sampler = Sampler.of_field(
            standing.counts if standing.sides is None else standing.sides,
            standing.mu,
            standing.covariance,
            standing.spread,
            draw_probability=standing.draw_probability,
            n_sides=standing.field.n_sides,
        )
        while True:
            yield sampler.draw(rng, 1)[0]

    def _pair_neighbours(
        self, standing: Standing, sample: Floats, rng: np.random.Generator
    ) -> Iterator[Lineup]:
        """Yield lineups in a random order; the best and the worst alike may be left out."""
        n_seats = standing.field.n_seats
        n_paired = max(self.number("top") or len(sample), n_seats)
        order = np.argsort(-sample)[:n_paired].tolist()
        # Where the seats do not divide the field, chance says whether the best or the worst sit
        # out.
        offset = int(rng.integers(len(order) % n_seats + 1)) if n_paired == len(sample) else 0
        starts = np.arange(offset, len(order) - n_seats + 1, n_seats)
        for start in rng.permutation(starts).tolist():
            yield tuple(order[start : start + n_seats])


def _is_worth_playing(
    lineup: Lineup,
    standing: Standing,
    waiting: dict[tuple[int, int], int],
    rng: np.random.Generator,
) -> bool:
    """Return whether to play it although some matches are in flight: the less sure, the rather."""
    first, second = max(_list_pairs(lineup), key=lambda pair: waiting.get(pair, 0))
    gap = standing.mu[first] - standing.mu[second]
    variance = standing.sd[first] ** 2 + standing.sd[second] ** 2
    return is_worth_playing(gap, variance, waiting.get((first, second), 0), rng)


def _list_pairs(lineup: Lineup) -> list[tuple[int, int]]:
    members = sorted(lineup)
    return [(i, j) for place, i in enumerate(members) for j in members[place + 1 :]]


PAIRING = _PosteriorSample()
