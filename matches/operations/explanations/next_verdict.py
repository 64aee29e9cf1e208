"""What a campaign waits for: when it is judged, how much is missing, how it ends."""

from dataclasses import dataclass
from datetime import datetime
from math import ceil

from matches.campaigns import results, texts
from matches.campaigns.forecasting import LIMIT
from matches.campaigns.judging import GROWTH, GROWTH_AT_ONCE, count_to_next_look
from matches.campaigns.starting import IS_SPRT
from matches.models import Campaign
from matches.store.clock import foresee_moment
from matches.store.formats import format_count, format_percent


@dataclass(frozen=True)
class NextVerdict:
    """What happens next with a campaign, when at about, and what is known of it."""

    next: str
    next_at: datetime | None
    notes: tuple[str, ...]


def describe_next_verdict(campaign: Campaign, *, now: datetime) -> NextVerdict:
    """Return what is to come of a campaign without a verdict."""
    limits = [f"at {campaign.max_matches:,} matches"]
    if campaign.max_core_s is not None:
        limits.append(f"{texts.format_core_time(campaign.max_core_s)} of cores")
    if campaign.max_money is not None:
        limits.append(f"{campaign.max_money:,.2f} of money")
    ends = f"without an answer it ends {' or '.join(limits)}"
    parts = (_describe_next_look(campaign), _describe_remaining(campaign), ends)
    text = "; ".join(part for part in parts if part)
    foreseen, end = campaign.forecast, None
    # Nothing is foreseen beyond LIMIT: the time to it would be shown as the time to the verdict.
    if foreseen is not None and campaign.forecast_at and foreseen["matches"] < LIMIT:
        wall_s = foreseen["cost"]["wall_s"]
        if wall_s is not None:
            # It ends at its budget where the verdict needs more matches than that: these are those
            # left now, and the forecast is as old as the last verdict.
            n_left = max(0, campaign.max_matches - campaign.tournament.n_closed)
            left_s = wall_s * n_left / foreseen["matches"] if foreseen["matches"] else wall_s
            verdict_s = wall_s - (now - campaign.forecast_at).total_seconds()
            end = foresee_moment(now, min(verdict_s, left_s))
    return NextVerdict(text, end, _list_notes(campaign))


def _describe_next_look(campaign: Campaign) -> str:
    due, at_once = (ceil(count_to_next_look(campaign, by)) for by in (GROWTH, GROWTH_AT_ONCE))
    later = f", {at_once:,} where they come at once" if at_once > due else ""
    return f"control judges it after {format_count(due, 'result')} of its agents{later}"


def _describe_remaining(campaign: Campaign) -> str:
    foreseen = campaign.forecast
    if foreseen is None or not foreseen["matches"]:
        return ""
    is_test = campaign.question == IS_SPRT
    goal = "a bound" if is_test else format_percent(1 - campaign.error)
    if foreseen["matches"] >= LIMIT:
        wider = "bounds further apart" if is_test else "a larger margin"
        return f"{goal} would need more than {LIMIT:,} matches: ask again with {wider}"
    about, (low, high) = texts.describe_number(foreseen["matches"]), texts.describe_span(foreseen)
    n_left = campaign.max_matches - campaign.tournament.n_done
    beyond = texts.describe_beyond_budget(foreseen, n_left)
    return f"{goal} needs {about} more matches ({low} to {high}){beyond}"


def _list_notes(campaign: Campaign) -> tuple[str, ...]:
    notes = [f"saved: {saved}"] if (saved := texts.describe_saved(campaign)) else []
    if campaign.n_judged:
        certainty, latest = "", results.find_latest_point(campaign)
        if latest is not None and campaign.question != IS_SPRT:
            chance = format_percent(latest.probability)
            certainty = f": the likeliest answer is true with {chance}"
        elif latest is not None and latest.llr is not None:
            certainty = f": log-likelihood ratio {latest.llr:+.2f}"
        notes.append(f"judged last after {format_count(campaign.n_judged, 'result')}{certainty}")
    return tuple(notes)
