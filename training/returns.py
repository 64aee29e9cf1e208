"""Targets of values and advantages of actions, worked out backwards over steps in order.

All arguments are float64 or bool [T]: T steps one after the other, of several traces. next_values
are those of the true successors, so that a trace may be cut after any step (`is_cut`, which also
holds at its last step); only `terminated` takes the value of the successor away.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Steps(NamedTuple):
    """What returns are worked out from; each [T]."""

    rewards: Floats
    values: Floats
    next_values: Floats
    terminated: Bools
    is_cut: Bools


def make_vtrace(
    steps: Steps, log_ratios: Floats, *, discount: float, decay: float
) -> tuple[Floats, Floats]:
    """Return the targets of the values and the advantages of the actions, each [T].

    log_ratios: log of the probability now over that when the action was taken. Both importance
    weights are cut off at 1. With none to correct, targets are the lambda returns.

    Source: Espeholt et al. 2018, "IMPALA", equation 1 and section 4.2, with lambda as in remark 2.
    """
    weights = np.minimum(np.exp(np.minimum(log_ratios, 0.0)), 1.0)
    followed = discount * ~steps.terminated
    errors = weights * (steps.rewards + followed * steps.next_values - steps.values)
    corrections = _add_backwards(errors, discount * decay * weights * ~steps.is_cut)
    targets = steps.values + corrections
    # Within a trace the successor of a step is the next step.
    next_targets = np.where(steps.is_cut, steps.next_values, np.append(targets[1:], 0.0))
    return targets, steps.rewards + followed * next_targets - steps.values


def make_gae(steps: Steps, *, discount: float, decay: float) -> tuple[Floats, Floats]:
    """Return the targets of the values and the advantages of the actions, each [T].

    Source: Schulman et al. 2016, "High-dimensional continuous control using generalized advantage
    estimation", equation 16.
    """
    errors = steps.rewards + discount * ~steps.terminated * steps.next_values - steps.values
    advantages = _add_backwards(errors, discount * decay * ~steps.is_cut)
    return steps.values + advantages, advantages


def _add_backwards(errors: Floats, weights: NDArray[np.floating]) -> Floats:
    """Return x with x[t] = errors[t] + weights[t] * x[t + 1]."""
    sums, running_sum = np.empty_like(errors), 0.0
    # Python's floats: element by element, an array is ten times slower.
    pairs = zip(reversed(errors.tolist()), reversed(weights.tolist()), strict=True)
    for t, (error, weight) in enumerate(pairs, 1):
        running_sum = error + weight * running_sum
        sums[-t] = running_sum
    return sums
