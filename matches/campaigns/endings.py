"""How campaigns end, in words: the answer, or what was not reached and what can be done."""

from typing import Final

from arena.verdicts.base import StopReason
from arena.verdicts.paired_blocks import PairedResult
from arena.verdicts.sprt import Decision
from matches.campaigns.score_campaigns import BEATS
from matches.campaigns.sprt import read_test
from matches.campaigns.starting import IS_SPRT
from matches.models import Campaign
from matches.store.formats import format_percent

_REASONS = (StopReason.DECIDED, StopReason.WITHIN_MARGIN, StopReason.NO_ORDER)
ANSWERED: Final = tuple(reason.value for reason in _REASONS)
"""Why a campaign ended, where it ended with an answer."""
_GRADES = {Decision.ACCEPT: "PASS", Decision.REJECT: "FAIL", Decision.CONTINUE: "UNDECIDED"}
_NO_RESULTS = "No match has a result: its matches say why. Mend that, and ask again."

# Why what is as probable as was asked for is no verdict.
_NO_EVIDENCE = (
    "the results alone do not bear it out yet: a verdict of `beats` holds however often it is "
    "looked at, which takes more of them"
)
_FEW_RESULTS = "on too few results of those whom it names"


def is_answered(campaign: Campaign) -> bool:
    """Return whether it ended as sure as was asked for."""
    return campaign.why in ANSWERED


def has_statement(campaign: Campaign) -> bool:
    """Return whether the statement names an agent; if stopped, it only repeats the reason."""
    return campaign.statement not in {"", campaign.why}


def describe_answer(campaign: Campaign) -> str:
    """Return what one that has ended says: its verdict, or what is likeliest without being sure."""
    if not has_statement(campaign):
        return "Not decided"
    is_verdict = is_answered(campaign) or campaign.probability is None
    if is_verdict or campaign.question == IS_SPRT:
        return campaign.statement
    return f"Not decided. Most likely: {campaign.statement}"


def describe_shortfall(campaign: Campaign) -> str:
    """Return what was asked for and not reached, and what to do; empty with an answer or before."""
    if campaign.decided_at is None or is_answered(campaign):
        return ""
    if campaign.why == "no_results":
        return _NO_RESULTS
    return (
        f"{_describe_reached(campaign)}. What was played counts: ask again"
        f"{_choose_remedy(campaign)}, and it goes on from there."
    )


def _describe_reached(campaign: Campaign) -> str:
    if campaign.question == IS_SPRT:
        return "The likelihood ratio has reached neither bound"
    goal = f"Asked for was a probability of {format_percent(1 - campaign.error)}"
    if campaign.probability is None:
        return f"{goal}, and no result was judged"
    likely = format_percent(campaign.probability)
    if campaign.why == "cancelled":
        return f"{goal}; it was {likely} when it was stopped"
    if campaign.probability < 1 - campaign.error:
        return f"{goal}; {likely} was reached"
    missing = _NO_EVIDENCE if campaign.question == BEATS else _FEW_RESULTS
    return f"{goal}, and {likely} was reached, but {missing}"


def _choose_remedy(campaign: Campaign) -> str:
    is_spent = campaign.why.partition(": ")[0] == StopReason.OUT_OF_BUDGET
    return f" with {name_remedies(campaign)}" if is_spent else ""


def name_remedies(campaign: Campaign) -> str:
    """Return what would bring an answer to one whose budget does not suffice."""
    wider = "bounds further apart" if campaign.question == IS_SPRT else "a larger margin"
    limit = campaign.why.partition(": ")[2]
    more = "another pairing" if limit == "pairing" else "a larger budget"
    return f"{more} or {wider}"


def describe_gap(blocks: PairedResult | None) -> str:
    """Return how much better or worse the first of two plays; empty before their first block."""
    if blocks is None:
        return ""
    elo = blocks.elo
    if elo.low < 0 < elo.high:
        # Signs beside "worse" would be read the wrong way round.
        gap, which = abs(elo.elo), "worse" if elo.elo < 0 else "better"
        return f"{gap:.0f} Elo {which} ({-elo.low:.0f} worse to {elo.high:.0f} better)"
    if elo.elo < 0:
        return f"{-elo.elo:z.0f} Elo worse ({-elo.high:z.0f} to {-elo.low:z.0f})"
    return f"{elo.elo:z.0f} Elo better ({elo.low:z.0f} to {elo.high:z.0f})"


def grade_test(campaign: Campaign, blocks: PairedResult | None) -> str:
    """Return where a sequential test stands: FAIL: 47 Elo worse (29 to 65)."""
    gap = describe_gap(blocks)
    if campaign.decided_at is None:
        return f"Not decided yet; so far {gap}" if gap else "Not decided yet"
    grade = _GRADES[Decision.CONTINUE]
    if campaign.pairs and is_answered(campaign):
        grade = _GRADES[read_test(campaign.parameters).state(campaign.pairs).decision]
    return f"{grade}: {gap}" if gap else grade
