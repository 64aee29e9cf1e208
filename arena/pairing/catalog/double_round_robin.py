"""Double round robin: every set of agents once per cycle, in all its seats, cycle after cycle.

Two seats follow the circle method: in each round every agent meets one other (with an odd number
one has a bye). More seats follow its generalisation: a lineup is turned round the circle of agents,
so that all agents have played alike after every turn.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from math import comb, gcd
from random import Random
from typing import Final

from arena.pairing.base import COUPLE, Field, check_blocks

Lineup = tuple[int, ...]


class _DoubleRoundRobin:
    id: Final = "double_round_robin"
    title: Final = "Double round robin"

    def pair(self, field: Field, n_blocks: int, *, seed: int) -> list[Lineup]:
        check_blocks(n_blocks)
        rng, circle = Random(seed), list(range(field.n_agents))
        rng.shuffle(circle)
        lineups = (
            _draw_rounds(circle)
            if field.n_seats == COUPLE
            else _turn_shapes(circle, field.n_seats, rng)
        )
        # A cycle of a large field may have millions of lineups: no more are made than are needed.
        cycle = list(islice(lineups, n_blocks))
        if len(cycle) < n_blocks:
            # Who sits behind whom matters from three seats on, so every other cycle turns it round.
            cycle += [lineup[::-1] for lineup in cycle]
        return (cycle * (n_blocks // len(cycle) + 1))[:n_blocks] if cycle else []


def _draw_rounds(circle: Sequence[int]) -> Iterator[Lineup]:
    """Yield the pairs round by round: the first stays, the others move on by one place."""
    bye = -1
    ring = [*circle, bye] if len(circle) % 2 else list(circle)
    # Turning all but one of n by a place meets every pair once in n - 1 rounds.
    for _ in range(len(ring) - 1):
        for pair in zip(ring[: len(ring) // 2], reversed(ring), strict=False):
            if bye not in pair:
                yield pair
        ring[1:] = ring[-1:] + ring[1:-1]


def _turn_shapes(circle: Sequence[int], n_seats: int, rng: Random) -> Iterator[Lineup]:
    """Yield the lineups shape by shape, each turned round the circle.

    A shape is a set of n_seats places that contains place 0; they come in a seeded order.
    """
    n = len(circle)
    # There may be far too many shapes to list: their numbers are stepped through instead.
    total = comb(n - 1, n_seats - 1)
    number, step = rng.randrange(total), rng.randrange(total)
    # A step without a common divisor visits every number once before it repeats.
    while gcd(step, total) != 1:
        step = rng.randrange(total)
    for _ in range(total):
        shape = [0, *_unrank_places(number, n, n_seats - 1)]
        number = (number + step) % total
        for turn in range(_count_turns([after - seat for seat, after in pairwise([*shape, n])])):
            yield tuple([circle[(seat + turn) % n] for seat in shape])


def _count_turns(gaps: list[int]) -> int:
    """Return how many turns give new lineups; 0 if other gaps stand for the same lineups."""
    for shift in range(1, len(gaps)):
        turned = gaps[shift:] + gaps[:shift]
        if turned < gaps:
            return 0
        if turned == gaps:
            return sum(gaps[:shift])
    return sum(gaps)


def _unrank_places(number: int, n: int, n_places: int) -> list[int]:
    """Return n_places ascending places in 1..n-1 by their number (combinatorial number system)."""
    places: list[int] = []
    for size in range(n_places, 0, -1):
        place = bisect_right(range(n), number, key=partial(_count_below, size)) - 1
        number -= comb(place, size)
        places.append(place + 1)
    return places[::-1]


def _count_below(size: int, place: int) -> int:
    return comb(place, size)


PAIRING = _DoubleRoundRobin()
