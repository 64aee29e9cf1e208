"""Beats: whether agent A is better than agent B by more than some lead.

Ends when that is surely so, when it is surely not so, or when the difference is surely so close to
the lead that the margin makes no difference. Unlike the sequential test (sprt) it uses all results
of the field, so it needs fewer matches where much is known.

Surely is what keeps to the error for any two agents, however close they are and however often it is
looked at: the weight of evidence, not the posterior. By the posterior two equal agents got a wrong
"beats" within 600 matches in 10 % of campaigns, 20 % in a field of five, at a stated 5 %.
"""

from collections.abc import Sequence
from math import log
from typing import Final

import numpy as np

from arena.parameters import Parameter
from arena.verdicts.base import StopReason, Terms, Verdict, VerdictError
from arena.verdicts.beliefs import Belief
from arena.verdicts.claims import is_ready

_YES = "{{}} beats {{}} by more than {lead:g}"
_NO = "{{}} does not beat {{}} by more than {lead:g}"
_NEAR = "{{}} beats {{}} by {lead:g}, give or take the margin"
_MOST = 10_000


class _Beats:
    id: Final = "beats"
    title: Final = "Does A beat B by more than a lead?"
    parameters: Sequence[Parameter] = (
        Parameter("a", 0, "the agent A, by index", 0, _MOST),
        Parameter("b", 1, "the agent B, by index", 0, _MOST),
        Parameter("lead", 0.0, "by how much, in units of rating", -100, 100),
    )

    def check(self, terms: Terms, n_agents: int) -> None:
        a, b, _ = _read_terms(terms)
        if a == b or max(a, b) >= n_agents:
            raise VerdictError(f"a and b must be two of 0..{n_agents - 1}, got {a} and {b}")

    def judge(self, belief: Belief, terms: Terms) -> Verdict | None:
        a, b, lead = _read_terms(terms)
        if not is_ready(belief, np.array([a, b])):
            return None
        needed, yes = -log(terms.error), _probability_above(belief, a, b, lead)
        decided = near = None
        if belief.weight_of_evidence(a, b, lead) >= needed:
            decided = _make_verdict(terms, yes, StopReason.DECIDED)
        if terms.margin:
            near = _judge_margin(belief, terms, needed)
        # The evidence is that of the likelier belief, the probability that of all there are.
        sure = (one for one in (decided, near) if one and one.probability >= 1 - terms.error)
        return next(sure, None)

    def guess(self, belief: Belief, terms: Terms) -> Verdict:
        return _make_verdict(
            terms, _probability_above(belief, *_read_terms(terms)), StopReason.OUT_OF_BUDGET
        )


def _read_terms(terms: Terms) -> tuple[int, int, float]:
    parameters = terms.parameters
    return (
        int(parameters.get("a", 0)),
        int(parameters.get("b", 1)),
        float(parameters.get("lead", 0.0)),
    )


def _judge_margin(belief: Belief, terms: Terms, needed: float) -> Verdict | None:
    """Return that the gap is within the margin of the lead, if there is evidence on both sides."""
    a, b, lead = _read_terms(terms)
    low, high = lead - terms.margin, lead + terms.margin
    # The weight of evidence speaks for the side on which the gap is, be it beyond both bounds: then
    # the probability is small that it is within them.
    if min(belief.weight_of_evidence(a, b, bound) for bound in (low, high)) < needed:
        return None
    within = _probability_above(belief, a, b, low) - _probability_above(belief, a, b, high)
    return Verdict(_NEAR.format(lead=lead), (a, b), within, StopReason.WITHIN_MARGIN)


def _probability_above(belief: Belief, a: int, b: int, lead: float) -> float:
    return float(belief.superiority(np.array([a]), np.array([b]), lead)[0])


def _make_verdict(terms: Terms, yes: float, why: StopReason) -> Verdict:
    a, b, lead = _read_terms(terms)
    sentence, probability = (_YES, yes) if yes >= 0.5 else (_NO, 1 - yes)  # noqa: PLR2004
    return Verdict(sentence.format(lead=lead), (a, b), probability, why)


QUESTION = _Beats()
