"""What is true instead where no order of the kind asked for exists, once that is sure."""

from collections.abc import Sequence

import numpy as np

from arena.ratings.counts import Ints
from arena.verdicts.base import StopReason, Verdict
from arena.verdicts.beliefs import Belief
from arena.verdicts.circles import (
    EVEN,
    MOST_AGENTS,
    doubt_beaten,
    doubt_circle,
    doubt_some_circle,
    find_blocking,
    group_by_circles,
)
from arena.verdicts.claims import Claim, compare_neighbours, doubt_leads, is_ready
from arena.verdicts.words import list_places, name_upsets

_NO_ORDER = StopReason.NO_ORDER


def refuse_first(belief: Belief, n_named: int, margin: float, error: float) -> Verdict | None:
    """Return who of the first so many beat each other in a circle, if that is sure.

    Of one that is asked for: who of those before all others is beaten by another of them each.
    """
    if not _is_looked_at(belief):
        return None
    groups = group_by_circles(belief)
    circle = find_blocking(groups, n_named)
    if circle is None or not is_ready(belief, circle):
        return None
    places = list_places(len(circle))
    if n_named == 1:
        doubt = doubt_beaten(belief, circle, margin)
        reason = f"each of {places} is beaten by another of them"
    else:
        doubt = doubt_circle(belief, circle, margin)
        if doubt > error:
            return None
        reason = f"{places} beat each other in a circle"
        # Who is within the margin of the circle might take the place of one of it.
        above, below = _claim_groups(groups, circle, margin).pairs
        doubt += doubt_leads(belief, above, below, np.full(len(above), margin))
    if doubt > error:
        return None
    return Verdict(
        f"there is no such order: {reason}", tuple(circle.tolist()), 1 - doubt, _NO_ORDER
    )


def except_upsets(
    belief: Belief, margin: float, error: float, weight_of_upsets: float
) -> Verdict | None:
    """Return the likeliest order with the pairs that go the other way round, if all are sure.

    And if so is a circle: else there may be another order, of which none does. belief: of agents
    that have all played enough to be named. weight_of_upsets: of what is likely of pairs of which
    the ratings tell nothing.
    """
    if not _is_looked_at(belief):
        return None
    order = np.concatenate(group_by_circles(belief))
    above, below = Claim(order, [1] * len(order), margin).pairs
    is_upset = belief.superiority(above, below) < EVEN
    if not is_upset.any():
        return None
    winners, losers = np.where(is_upset, (below, above), (above, below))
    # The bound that costs nearly nothing first, as of a claim: the least sure pair.
    if (1 - belief.superiority(winners, losers, -margin)).max() > error:
        return None
    doubt = doubt_some_circle(belief, margin)
    doubt += weight_of_upsets * float(belief.doubt_upsets(winners, losers, -margin).sum())
    if doubt > error:
        return None
    doubt += doubt_leads(belief, winners, losers, np.full(len(winners), -margin))
    if doubt > error:
        return None
    upsets = tuple(zip(winners[is_upset].tolist(), losers[is_upset].tolist(), strict=True))
    subjects = tuple(order.tolist())
    statement = name_upsets(subjects, upsets) + (" (up to the margin)" if margin else "")
    steps = compare_neighbours(belief, subjects)
    return Verdict(statement, subjects, 1 - doubt, _NO_ORDER, steps, upsets)


def _is_looked_at(belief: Belief) -> bool:
    return belief.leads is not None and belief.n_agents <= MOST_AGENTS


def _claim_groups(groups: Sequence[Ints], circle: Ints, margin: float) -> Claim:
    """Return that all down to the circle, the circle, and all behind it follow each other."""
    sizes = [len(group) for group in groups]
    place = next(n for n, group in enumerate(groups) if group is circle)
    parts = (sum(sizes[:place]), sizes[place], sum(sizes[place + 1 :]))
    return Claim(np.concatenate(groups), [size for size in parts if size], margin)
