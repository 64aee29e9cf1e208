"""Campaigns in words and tables on the terminal: verdict, forecast, likeliest order."""

from collections.abc import Mapping, Sequence

from evalsite_client.api.campaigns import Ahead, Campaign, CampaignDetail, Ranked, Upset
from evalsite_client.api.shared import Forecast, ForecastCost, ForecastMore, Pairs
from evalsite_client.cli.show import (
    MOST_FORESEEN,
    Answer,
    describe_number,
    format_pairs,
    round_matches,
)
from evalsite_client.progress import format_duration

UNDECIDED = 3
HOUR_S = 3_600
N_CHANCES = 5
_SURE = 0.995
_NO_COST = ForecastCost(core_s=None, gpu_s=0.0, wall_s=None, money=None)
ABOUT_BEST = ("best", "top_k")
"""Questions to which P(best) says something."""
RANKINGS = ("rank_all", "rank_pairs")
"""Questions whose likeliest answer has a row of its own, with a probability for each step."""
TEST = "sprt"
"""The question whose statement says itself that it is undecided."""


def describe_progress(campaign: CampaignDetail) -> str:
    """Return how far a campaign is, in one line."""
    parts = [f"{campaign.n_done:,} of at most {campaign.max_matches:,} matches"]
    latest = campaign.latest_point
    if campaign.question == "best":
        parts += [
            f"P(best) {chance.p_best:.1%}: {chance.agent.name}" for chance in campaign.chances[:1]
        ]
    elif latest is not None and latest.llr is not None:
        parts.append(f"LLR {latest.llr:+.2f}")
    elif latest is not None and (campaign.is_answered or not campaign.is_over):
        parts.append(_describe_likely(campaign, latest.probability))
    if campaign.ranking and not campaign.is_over:
        parts.append(describe_ranking(campaign.ranking[:N_CHANCES]))
    if campaign.forecast and not campaign.is_over:
        beyond = _describe_beyond_budget(campaign.forecast, _count_left(campaign))
        parts.append(f"{describe_number(campaign.forecast.matches)} more{beyond}")
    if campaign.state == "paused":
        parts.append("paused")
    return ", ".join(parts)


def _describe_likely(campaign: Campaign, probability: float) -> str:
    """Return the likeliest answer and how likely it is; an order stands beside it."""
    statement = campaign.likely_statement
    if statement and campaign.question not in RANKINGS:
        return f"most likely: {statement}, {probability:.1%}"
    return f"the likeliest answer is true with {probability:.1%}"


def describe_verdict(campaign: CampaignDetail) -> Answer:
    """Return where a campaign stands; the status is UNDECIDED unless its question is answered."""
    likeliest = campaign.chances[:N_CHANCES] if campaign.question in ABOUT_BEST else ()
    chances = ", ".join(f"{chance.agent.name} {chance.p_best:.1%}" for chance in likeliest)
    rows = {
        "verdict": _describe_answer(campaign),
        # A sequential test without a verdict has a ratio, and a probability of 0.
        "probability": campaign.probability or None,
        "why": campaign.why_in_words,
        "not reached": campaign.shortfall,
        "warning": campaign.budget_warning,
        "likeliest order": describe_ranking(campaign.ranking),
        "other way round": _describe_upsets(campaign.upsets),
        "P(best)": chances,
        "matches": f"{campaign.n_done:,} of at most {campaign.max_matches:,}",
        "saved": campaign.saved,
        **(_describe_blocks(campaign.pairs) if campaign.pairs else {}),
        "a round robin": campaign.n_round_robin
        and f"{describe_number(campaign.n_round_robin)} matches",
        "core time": _format_core_time(campaign.spent.core_s),
        "money": campaign.spent.money or None,
        **(
            _describe_forecast(campaign.forecast, _count_left(campaign))
            if campaign.forecast and not campaign.is_over
            else {}
        ),
    }
    return Answer(campaign, format_pairs(rows), 0 if campaign.is_answered else UNDECIDED)


def _describe_answer(campaign: Campaign) -> str:
    """Return the verdict; without any, what is likeliest."""
    none = "none" if campaign.is_over else "none yet"
    is_said = campaign.statement not in {"", campaign.why}
    # Without a probability it names no answer, but why there is none.
    is_final = campaign.is_answered or campaign.probability is None
    if is_said and (is_final or campaign.question == TEST):
        return campaign.statement
    likely = campaign.statement if is_said else campaign.likely_statement
    return f"{none}; most likely: {likely}" if likely else none


def describe_ranking(ranking: Sequence[Ranked]) -> str:
    """Return an order, the best first, each with the probability that it is above the next."""
    return " > ".join(
        place.agent.name
        if place.p_above_next is None
        else f"{place.agent.name} {place.p_above_next:.1%}"
        for place in ranking
    )


def _describe_upsets(upsets: Sequence[Upset]) -> str:
    """Return who beats whom that stands before it in that order."""
    return ", ".join(f"{upset.agent.name} beats {upset.beats.name}" for upset in upsets)


def _describe_blocks(pairs: Pairs) -> Mapping[str, object]:
    """Return what the paired blocks of a test say."""
    elo = pairs.elo
    return {
        "blocks 0..2": " ".join(map(str, pairs.blocks)),
        "score": f"{pairs.score:.2%}, drawn blocks {pairs.split:.1%}",
        "Elo": f"{elo.elo:+.1f} ({elo.low:+.1f} to {elo.high:+.1f}), P(better) {pairs.los:.1%}",
    }


def describe_ahead(ahead: Ahead) -> str:
    """Return what a campaign would start from and take."""
    rows: dict[str, object] = {"agents": ahead.n_agents, "margin": ahead.margin or None}
    rows["known matches"] = f"{ahead.n_known:,}" + (
        f", {ahead.n_known_elsewhere:,} on other leaderboards" if ahead.n_known_elsewhere else ""
    )
    rows |= {"warning": ahead.warning, "budget": ahead.budget_warning}
    return format_pairs({**rows, **_describe_forecast(ahead.forecast)})


def _count_left(campaign: Campaign) -> int:
    return campaign.max_matches - campaign.n_done


def _describe_beyond_budget(forecast: Forecast, n_left: int | None) -> str:
    """Return that the budget ends before the forecast verdict; empty where it suffices."""
    if n_left is None or forecast.matches <= n_left:
        return ""
    return f"; the budget leaves {n_left:,}"


def _describe_forecast(forecast: Forecast, n_left: int | None = None) -> Mapping[str, object]:
    """n_left: what the budget leaves to play, where one is set."""
    if not forecast.matches:
        return {"to the verdict": "nothing more: what is known decides it"}
    # What a million matches cost is no answer where even they bring none.
    cost = forecast.cost if forecast.matches < MOST_FORESEEN else _NO_COST
    beyond = _describe_beyond_budget(forecast, n_left)
    return {
        "to the verdict": f"{_describe_matches(forecast)}{beyond}",
        "by round robin": forecast.round_robin
        and f"{describe_number(forecast.round_robin)} matches",
        "ends accepted": None if forecast.accepted is None else f"{forecast.accepted:.1%} of cases",
        "cores": None if cost.core_s is None else _format_core_time(cost.core_s),
        "gpus": f"{cost.gpu_s:,.1f} s" if cost.gpu_s else None,
        "on the clock": None if cost.wall_s is None else format_duration(cost.wall_s),
        "costs": cost.money or None,
        f"{forecast.more.n_matches} more": _describe_more(forecast.more),
    }


def _describe_matches(forecast: Forecast) -> str:
    """Return the matches to the verdict, their range, and in how many cases they bring none."""
    never = f"{1 - forecast.decided:.1%} of cases"
    if forecast.matches >= MOST_FORESEEN:
        return f"{describe_number(forecast.matches)} in {never}"
    high = describe_number(forecast.high).removeprefix("about ")
    text = f"{describe_number(forecast.matches)} ({round_matches(forecast.low)} to {high})"
    return text if forecast.decided > _SURE else f"{text}, never in {never}"


def _format_core_time(seconds: float) -> str:
    """Return core time with one decimal: seconds up to an hour, then hours."""
    if seconds < HOUR_S:
        return f"{seconds:,.1f} s"
    return f"{seconds / HOUR_S:,.1f} h"


def _describe_more(more: ForecastMore) -> str:
    """Return what some more matches would change."""
    ends = f"verdict in {more.verdict:.1%} of cases"
    if more.now is None or more.then is None:
        return f"LLR {more.llr_now:+.2f} -> {more.llr_then:+.2f}, {ends}"
    return f"P {more.now:.1%} -> {more.then:.1%}, {ends}"


def make_row(campaign: Campaign) -> list[object]:
    """Return a campaign as a row of the list: how sure only where that is of an answer."""
    cells = (campaign.id, campaign.tournament, campaign.leaderboard, campaign.question)
    progress = (campaign.shown_state, campaign.n_done, campaign.max_matches)
    is_likely = campaign.probability is not None and (campaign.is_answered or not campaign.is_over)
    sure = f"{campaign.probability:.1%}" if is_likely else ""
    answer = _describe_answer(campaign) if campaign.is_over else ""
    return [*cells, *progress, sure, answer]
