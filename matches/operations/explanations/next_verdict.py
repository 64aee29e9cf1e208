"""What a campaign waits for: when it is judged, how much is missing, how it ends."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from matches.campaigns import texts
from matches.campaigns.forecasting import LIMIT
from matches.campaigns.judging import next_at
from matches.campaigns.starting import IS_SPRT
from matches.models import Campaign
from matches.store.explanation import format_count, format_percent


@dataclass(frozen=True)
class NextVerdict:
    """What happens next with a campaign, when at about, and what is known of it."""

    next: str
    next_at: datetime | None
    notes: tuple[str, ...]


def describe_next_verdict(campaign: Campaign) -> NextVerdict:
    """Return what is to come of a campaign without a verdict."""
    limits = [f"at {campaign.max_matches:,} matches"]
    if campaign.max_core_s is not None:
        limits.append(f"{texts.format_core_time(campaign.max_core_s)} of cores")
    if campaign.max_money is not None:
        limits.append(f"{campaign.max_money:,.2f} of money")
    ends = f"without an answer it ends {' or '.join(limits)}"
    parts = [_judged(campaign), _describe_rest(campaign), ends]
    return NextVerdict("; ".join(part for part in parts if part), _at(campaign), _notes(campaign))


def _judged(campaign: Campaign) -> str:
    due = ceil(next_at(campaign))
    return f"control judges it after {format_count(due, 'result')} of its agents"


def _describe_rest(campaign: Campaign) -> str:
    foreseen = campaign.forecast
    if foreseen is None or not foreseen["matches"]:
        return ""
    is_test = campaign.question == IS_SPRT
    wanted = "a bound" if is_test else format_percent(1 - campaign.error)
    if foreseen["matches"] >= LIMIT:
        wider = "bounds further apart" if is_test else "a larger margin"
        return f"{wanted} would need more than {LIMIT:,} matches: ask again with {wider}"
    about, low, high = (texts.round_matches(foreseen[name]) for name in ("matches", "low", "high"))
    return f"{wanted} needs about {about} more matches ({low} to {high})"


def _at(campaign: Campaign) -> datetime | None:
    foreseen = campaign.forecast
    if foreseen is None or campaign.forecast_at is None or foreseen["matches"] >= LIMIT:
        return None
    wall_s = foreseen["cost"]["wall_s"]
    return None if wall_s is None else campaign.forecast_at + timedelta(seconds=wall_s)


def _notes(campaign: Campaign) -> tuple[str, ...]:
    found = [f"saved: {saved}"] if (saved := texts.describe_saved(campaign)) else []
    if campaign.n_judged:
        certainty = _describe_certainty(campaign)
        found.append(f"judged last after {format_count(campaign.n_judged, 'result')}{certainty}")
    return tuple(found)


def _describe_certainty(campaign: Campaign) -> str:
    newest = campaign.points.order_by("-n_results").first()
    if newest is None:
        return ""
    if campaign.question == IS_SPRT:
        return "" if newest.llr is None else f": log-likelihood ratio {newest.llr:+.2f}"
    return f": the likeliest answer is true with {format_percent(newest.probability)}"
