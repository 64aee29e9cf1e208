"""How far pairs depart from the ratings, in many cases at once: what results say of it.

As arena.ratings.pair_evidence has it of one field: the leads of pairs are jointly normal for each
variance that they may have of their own, and the density of the results says how likely that is.
"""

from typing import NamedTuple

import numpy as np

from arena.ratings.base import SIGMA
from arena.ratings.counts import Floats
from arena.verdicts.lead_states import LeadStates, make_laplacian, sum_pulls

# Of skills without any result of a pair: less than of the widest field, or the longest lineage.
_LEAST_PRECISION = 1 / (32 * SIGMA) ** 2


class _Results(NamedTuple):
    """What pairs did, and what is thought of skills beside it.

    information, evidence: float64 [t, n, n], of the leads alone, above the diagonals. precision:
    float64 [t, n, n], and pull, [t, n]: of the skills without these pairs.
    """

    information: Floats
    evidence: Floats
    precision: Floats
    pull: Floats


def complete_skills(states: LeadStates) -> LeadStates:
    """Return the same with skills of which something is known beside what the pairs did.

    The fit weighs pairs a little otherwise than they tell of their leads: what is left may be less
    than nothing. What makes it more leaves the skills where they are.
    """
    precisions, along = np.linalg.eigh(_read_results(states).precision)
    missing = np.maximum(_LEAST_PRECISION - precisions, 0)
    added = (along * missing[:, None]) @ along.swapaxes(1, 2)
    skills = np.linalg.solve(states.precision, states.pull[..., None])
    return states._replace(
        precision=states.precision + added, pull=states.pull + (added @ skills)[..., 0]
    )


def weigh_variances(states: LeadStates, variances: Floats) -> Floats:
    """Return the log-likelihood of each variance [s] in each case, but for a constant: [t, s].

    states: of complete skills.
    """
    results = _read_results(states)
    information, evidence = results.information[:, None], results.evidence[:, None]
    widened = 1 + information * variances[:, None, None]
    share = 1 / widened
    precision = results.precision[:, None] + make_laplacian(share * information)
    pull = results.pull[:, None] + sum_pulls(share * evidence)
    skills = np.linalg.solve(precision, pull[..., None])[..., 0]
    # Less what the squares would be without a variance: that is the same of all.
    squares = -variances * (share * evidence**2).sum(axis=(2, 3)) - (pull * skills).sum(axis=2)
    log_volume = np.linalg.slogdet(precision)[1] + np.log(widened).sum(axis=(2, 3))
    likelihood: Floats = -(squares + log_volume) / 2
    return likelihood


def change_variance(states: LeadStates, variance: Floats) -> LeadStates:
    """Return what the same results say if leads had this variance of their own before: [t].

    states: of complete skills.
    """
    results = _read_results(states)
    before, after = states.before[:, None, None], variance[:, None, None]
    share = 1 / (1 + after * (1 / states.share - 1) / before)
    upper = np.triu(share, 1)
    return states._replace(
        precision=results.precision + make_laplacian(upper * results.information),
        pull=results.pull + sum_pulls(upper * results.evidence),
        share=share,
        own=after * share * states.own / (before * states.share),
        variance=after * share,
        before=variance,
    )


def _read_results(states: LeadStates) -> _Results:
    before = states.before[:, None, None]
    information = np.triu((1 / states.share - 1) / before, 1)
    evidence = np.triu(states.own / (before * states.share), 1)
    return _Results(
        information,
        evidence,
        states.precision - make_laplacian(states.share * information),
        states.pull - sum_pulls(states.share * evidence),
    )
