"""What is known at some moment of a tournament, for checks of adaptive pairings."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from arena.pairing.base import Field, Meeting, Standing
from arena.ratings.counts import Ints
from arena.ratings.settled import count_results, settle_ratings


def standing(
    field: Field,
    results: Ints | None = None,
    meetings: Sequence[Meeting] = (),
    *,
    n_in_flight: Mapping[tuple[int, int], int] | None = None,
    seeding: Sequence[int] = (),
) -> Standing:
    """Return what is known after these results; none: before the first match."""
    counts = count_results(np.empty((0, 3), np.int64) if results is None else results)
    settled = settle_ratings(counts, field.n_agents, n_sides=field.n_sides)
    return Standing(
        field=field,
        mu=settled.mu,
        covariance=settled.covariance,
        sd=settled.sd,
        spread=settled.spread,
        counts=counts,
        n_in_flight=in_flight(meetings) if n_in_flight is None else n_in_flight,
        meetings=meetings,
        draw_probability=0.1,
        seeding=seeding,
    )


def in_flight(meetings: Sequence[Meeting]) -> dict[tuple[int, int], int]:
    """Return how many matches of open blocks there are, by pair."""
    n_open = Counter[tuple[int, int]]()
    for meeting in meetings:
        if meeting.points is None:
            members = sorted(meeting.lineup)
            pairs = [(i, j) for i in members for j in members if i < j] or [(members[0],) * 2]
            n_open.update(dict.fromkeys(pairs, len(members)))
    return dict(n_open)


def won(first: int, second: int, points: float = 2.0) -> Meeting:
    """Return a closed block of two seats in which the first had so many of the two points."""
    return Meeting((first, second), 0, (points, 2.0 - points))
