"""Campaigns in words: what is asked, what it will take, what it has cost, why it ended."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from django.conf import settings

from arena.ratings.base import INTERVAL
from arena.verdicts.base import StopReason
from arena.verdicts.paired_blocks import PairedResult
from arena.verdicts.sprt import EloEstimate
from matches.campaigns.forecasting import LIMIT
from matches.campaigns.sprt import read_test
from matches.campaigns.starting import IS_SPRT
from matches.ledger import costs
from matches.models import Campaign
from matches.ratings.closed_prefix import WaitingResults
from matches.store.formats import format_brief, format_percent, format_span

_HOUR_S = 3_600
_SMALL, _MANY = 10, 1_000
_SIGNIFICANT = 2
_SURE = 0.995
_SPACE = "\N{NO-BREAK SPACE}"
UNMEASURED = "not measured yet"
# What GPU time is reckoned by: steps of the newest matches, times what their networks take.
GPU_BASIS = ", by the time of one row alone on a core; batches may take less"

_WHY = {
    StopReason.DECIDED.value: "decided: it is as sure as was asked for",
    StopReason.WITHIN_MARGIN.value: "within the margin: what could be wrong makes no difference",
    StopReason.NO_ORDER.value: "no order: agents beat each other in a circle, and surely so",
    StopReason.OUT_OF_BUDGET.value: (
        "out of budget: the likeliest answer so far, not as sure as asked for"
    ),
    "cancelled": "stopped before it was decided",
    "no_results": "no match has a result",
    "bad_scores": "a score is outside of the range that the game declares",
}
_SPENT = {
    "matches": "all matches are played",
    "core_seconds": "all core time is spent",
    "money": "all money is spent",
    "pairing": "the pairing has nothing more to play",
}


class LabelledText(NamedTuple):
    """A label and its text."""

    label: str
    says: str


class Share(NamedTuple):
    """A part of the budget: what is spent of it; percent is 0..100, None without a limit."""

    label: str
    says: str
    percent: float | None


def describe_question(campaign: Campaign, names: Mapping[int, str]) -> str:
    """Return the question in words. names: of the entrants by position, as many as are needed."""
    parameters = campaign.parameters
    if campaign.question == IS_SPRT:
        elo0, elo1 = f"{parameters['elo0']:g}", f"{parameters['elo1']:g}"
        return f"Is {names[0]} better than {names[1]} by {elo1} Elo rather than by {elo0}?"
    if campaign.question == "beats":
        lead = f" by more than {parameters['lead']:g}" if parameters["lead"] else ""
        return f"Does {names[parameters['a']]} beat {names[parameters['b']]}{lead}?"
    if campaign.question == "top_k":
        return f"Which agents are the best {parameters['k']}?"
    return str(campaign.get_question_display())


def describe_terms(campaign: Campaign) -> str:
    """Return how sure the answer has to be, and what makes no difference."""
    if campaign.question == IS_SPRT:
        parameters = campaign.parameters
        accepted, rejected = (
            f"{100 * parameters[error]:.3g}{_SPACE}%" for error in ("alpha", "beta")
        )
        text = f"Wrongly accepted with a probability of at most {accepted}"
        return f"{text}, wrongly rejected with at most {rejected}; {parameters['model']} Elo."
    text = f"Wrong with a probability of at most {_format_error(campaign.error)}{_SPACE}%"
    if campaign.margin:
        unit = "mean score" if campaign.is_by_scores else "rating"
        text += f"; a gap in {unit} of {campaign.margin:.3g} or less makes no difference"
    if campaign.is_by_scores:
        text += "; by mean scores on equal seeds, however often one looks"
    return f"{text}."


def _format_error(error: float) -> str:
    """Return a probability in percent to three digits, however small, never with an exponent."""
    return format(Decimal(f"{100 * error:.3g}"), "f")


def describe_end(campaign: Campaign) -> str:
    """Return why it ended, empty while it goes on."""
    reason, _, limit = campaign.why.partition(": ")
    text = _WHY.get(reason, reason)
    return f"{text} ({_SPENT.get(limit, limit)})" if limit else text


def describe_forecast(
    forecast: Mapping[str, Any] | None, n_left: int | None = None
) -> list[LabelledText]:
    """Return a forecast in words, nothing without one. n_left: what the budget leaves to play."""
    if forecast is None:
        return []
    if not forecast["matches"]:
        return [LabelledText("Matches to the verdict", "none: what is known decides it")]
    beyond = "" if n_left is None else describe_beyond_budget(forecast, n_left)
    lines = [LabelledText("Matches to the verdict", f"{_describe_matches(forecast)}{beyond}")]
    if forecast["round_robin"] is not None:
        text = f"{describe_number(forecast['round_robin'])} matches"
        lines.append(LabelledText("A round robin", text))
    else:
        lines.append(
            LabelledText("It ends accepted", f"in {format_percent(forecast['accepted'])} of cases")
        )
    more = forecast["more"]
    if more["now"] is None:
        then = f"the log-likelihood ratio would be about {more['llr_then']:+.2f}"
    else:
        then = f"the likeliest answer would be true with {format_percent(more['then'])}"
    outlook = f"bring the verdict in {format_percent(more['verdict'])} of cases; {then}"
    label = f"{more['n_matches']:.0f} more matches"
    # What a million matches cost is no answer where even they bring none.
    costs = describe_costs(forecast["cost"]) if forecast["matches"] < LIMIT else ()
    return [*lines, *costs, LabelledText(label, outlook)]


def describe_beyond_budget(forecast: Mapping[str, Any], n_left: int) -> str:
    """Return that the budget ends before the forecast verdict; empty where it suffices."""
    return f"; the budget leaves {n_left:,}" if forecast["matches"] > n_left else ""


def warn_of_forecast(forecast: Mapping[str, Any] | None, n_left: int) -> str | None:
    """Return a warning where the median forecast is over the matches that are left to play."""
    if forecast is None or forecast["matches"] <= n_left:
        return None
    needed = describe_number(forecast["matches"])
    return (
        f"The budget will probably not suffice: the verdict needs {needed} more matches, "
        f"{n_left:,} are left. Raise the budget, or ask for less."
    )


def warn_of_budget(campaign: Campaign) -> str | None:
    """Return a warning while one runs whose budget will probably not suffice."""
    if campaign.decided_at is not None:
        return None
    return warn_of_forecast(campaign.forecast, campaign.max_matches - campaign.tournament.n_done)


def describe_bounds(campaign: Campaign) -> str:
    """Return where a sequential test ends; empty for other questions."""
    if campaign.question != IS_SPRT:
        return ""
    test = read_test(campaign.parameters)
    return f"it ends at {test.lower:+.2f} (rejected) or {test.upper:+.2f} (accepted)"


def describe_blocks(result: PairedResult) -> list[LabelledText]:
    """Return what the paired blocks of two agents say."""
    lines = [
        LabelledText("Mean score", f"{100 * result.score:.2f}{_SPACE}%"),
        LabelledText("Elo", _format_elo(result.elo)),
    ]
    if result.normalised is not None:
        lines.append(LabelledText("Normalised Elo", _format_elo(result.normalised)))
    return [
        *lines,
        LabelledText("Draw ratio of blocks", f"{100 * result.split:.1f}{_SPACE}%"),
        LabelledText("Likelihood of superiority", format_percent(result.los)),
    ]


def describe_budget(campaign: Campaign) -> list[Share]:
    """Return what is spent of what it may cost."""
    spent, limit = costs.sum_spent(campaign), costs.read_budget(campaign)
    parts = [_make_share("Matches", spent.matches or 0, limit.matches, lambda n: f"{n:,.0f}")]
    parts.append(
        _make_share("Core time", spent.core_seconds or 0, limit.core_seconds, format_core_time)
    )
    if limit.money is not None or any(settings.WORKER_PRICES.values()):
        parts.append(_make_share("Money", spent.money or 0, limit.money, lambda n: f"{n:,.2f}"))
    return parts


def describe_known(n_matches: int, n_elsewhere: int) -> str:
    """Return how many matches were known already: 2 matches, 1 of them from other leaderboards."""
    text = _format_matches(n_matches)
    if not n_elsewhere:
        return text
    share = "all" if n_elsewhere == n_matches else f"{n_elsewhere:,}"
    return f"{text}, {share} of them from other leaderboards"


def describe_saved(campaign: Campaign) -> str:
    """Return how many matches a campaign did not have to play; empty where that is none."""
    n_reused = campaign.tournament.n_known
    parts = []
    if campaign.n_known:
        known_text = describe_known(campaign.n_known, campaign.n_known_elsewhere)
        parts.append(
            f"{known_text}{',' if campaign.n_known_elsewhere else ''} "
            f"{'was' if campaign.n_known == 1 else 'were'} known before and not played"
        )
    if n_reused:
        parts.append(
            f"{_format_matches(n_reused)} of this tournament: known games, not played again"
        )
    return "; ".join(parts)


def describe_waiting(waits: WaitingResults) -> str:
    """Return what has to end before the results that came before it count."""
    blocks = "1 block" if waits.n_blocks == 1 else f"{waits.n_blocks:,} blocks"
    results = "1 result" if waits.n_results == 1 else f"{waits.n_results:,} results"
    are, them = ("is", "it") if waits.n_blocks == 1 else ("are", "them")
    wait = "waits" if waits.n_results == 1 else "wait"
    return f"{blocks} planned earlier {are} still being played: {results} behind {them} {wait}"


def describe_number(n: float) -> str:
    """Return a number of matches that was foreseen, or that it is beyond what is looked at."""
    return f"more than {LIMIT:,}" if n >= LIMIT else f"about {round_matches(n)}"


def round_matches(n: float) -> str:
    """Return a number of matches no more exactly than it is known."""
    if n < _SMALL:
        return f"{n:.0f}"
    digits = len(str(int(n))) - _SIGNIFICANT
    return f"{round(n / 10**digits) * 10**digits:,}"


def format_core_time(seconds: float) -> str:
    """Return the time of one core: hours, or less where it is less; below a second in ms."""
    if 0 < seconds < 1:
        return format_brief(seconds)
    if seconds < _HOUR_S / _SMALL:
        return f"{seconds:.3g} s"
    hours = seconds / _HOUR_S
    return f"{hours:.3g} h" if hours < _MANY else f"{hours:,.0f} h"


def _format_elo(result: EloEstimate) -> str:
    share = INTERVAL.replace(" ", _SPACE)
    return f"{result.elo:+.1f} ({share} interval: {result.low:+.1f} to {result.high:+.1f})"


def _format_matches(n_matches: int) -> str:
    return "1 match" if n_matches == 1 else f"{n_matches:,} matches"


def _describe_matches(forecast: Mapping[str, Any]) -> str:
    if forecast["matches"] >= LIMIT:
        wider = "bounds further apart" if forecast["round_robin"] is None else "a larger margin"
        cases = format_percent(1 - forecast["decided"])
        return f"more than {LIMIT:,} in {cases} of cases: {wider} would end it earlier"
    low, high = describe_span(forecast)
    text = f"about {round_matches(forecast['matches'])} (80 % lie from {low} to {high})"
    if forecast["decided"] < _SURE:
        text += f"; never within {LIMIT:,} in {format_percent(1 - forecast['decided'])}"
    return text


def describe_span(forecast: Mapping[str, Any]) -> tuple[str, str]:
    """Return the fewest and the most matches of 80 % of the cases."""
    high = forecast["high"]
    most = f"more than {LIMIT:,}" if high >= LIMIT else round_matches(high)
    return round_matches(forecast["low"]), most


def describe_costs(cost: Mapping[str, float | None]) -> list[LabelledText]:
    core_s, gpu_s = cost["core_s"], cost["gpu_s"]
    wall_s, money = cost["wall_s"], cost["money"]
    lines = [LabelledText("Core time", UNMEASURED if core_s is None else format_core_time(core_s))]
    if gpu_s:
        lines.append(LabelledText("GPU time", f"about {format_core_time(gpu_s)}{GPU_BASIS}"))
    lines.append(
        LabelledText(
            "On the clock",
            UNMEASURED if wall_s is None else f"about {format_span(max(wall_s, 1.0))}",
        )
    )
    if money:
        lines.append(LabelledText("Money", f"{money:,.2f}"))
    return lines


def _make_share(label: str, spent: float, limit: float | None, form: Any) -> Share:
    if limit is None:
        return Share(label, f"{form(spent)} spent, no limit", None)
    text = f"{form(spent)} of {form(limit)} spent"
    return Share(label, text, round(min(100.0, 100 * spent / limit), 1) if limit else 100.0)
