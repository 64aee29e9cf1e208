"""Campaigns in words."""

from typing import Any

import pytest

from arena.verdicts.paired_blocks import compare_blocks
from matches.campaigns import texts
from matches.campaigns.forecasting import LIMIT
from matches.models import Campaign, Tournament
from matches.store.formats import format_percent


def _plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def _forecast(**change: Any) -> dict[str, Any]:
    cost = {"core_s": 7_200.0, "gpu_s": 0.0, "wall_s": 120.0, "money": 0.0}
    more = {"n_matches": 100, "now": 0.5, "then": 0.75, "verdict": 0.25}
    forecast = {"matches": 1_234.0, "low": 640.0, "high": 2_460.0, "decided": 1.0}
    return {**forecast, "round_robin": 5_040.0, "cost": cost, "more": more, **change}


def _describe_lines(forecast: dict[str, Any] | None) -> dict[str, str]:
    return {line.label: _plain(line.says) for line in texts.describe_forecast(forecast)}


@pytest.mark.parametrize(
    ("probability", "text"),
    [(0, "0 %"), (1e-9, "<0.1 %"), (0.0521, "5.2 %"), (0.5, "50 %"), (0.99996, ">99.9 %")],
)
def test_no_doubt_is_rounded_away(probability: float, text: str) -> None:
    assert _plain(format_percent(probability)) == text


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0"), (7.6, "8"), (34.2, "34"), (994.0, "990"), (12_345.0, "12,000")]
)
def test_matches_are_said_no_more_exactly_than_known(n: float, text: str) -> None:
    assert texts.round_matches(n) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.00403, "4 ms"),
        (0.0086, "8.6 ms"),
        (12.34, "12.3 s"),
        (359, "359 s"),
        (5_400, "1.5 h"),
        (3.6e6, "1,000 h"),
    ],
)
def test_core_time_is_said_in_seconds_or_hours(seconds: float, text: str) -> None:
    assert texts.format_core_time(seconds) == text


def test_a_forecast_says_matches_costs_and_what_more_would_change() -> None:
    assert _describe_lines(_forecast()) == {
        "Matches to the verdict": "about 1,200 (80 % lie from 640 to 2,500)",
        "A round robin": "about 5,000 matches",
        "Core time": "2 h",
        "On the clock": "about 2 min",
        "100 more matches": "bring the verdict in 25 % of cases; the likeliest answer would be "
        "true with 75 %",
    }


def test_a_forecast_of_a_test_says_how_it_ends_and_where_its_ratio_goes() -> None:
    more = {"n_matches": 100, "now": None, "then": None, "verdict": 0.25}
    more = {**more, "llr_now": -0.4, "llr_then": 1.126}
    forecast = _forecast(round_robin=None, accepted=0.7, more=more)
    lines = _describe_lines(forecast)
    assert "A round robin" not in lines
    assert lines["It ends accepted"] == "in 70 % of cases"
    assert lines["100 more matches"] == (
        "bring the verdict in 25 % of cases; the log-likelihood ratio would be about +1.13"
    )
    endless = _describe_lines({**forecast, "matches": float(LIMIT)})
    assert "bounds further apart" in endless["Matches to the verdict"]


def test_blocks_are_said_as_users_of_sequential_tests_read_them() -> None:
    result = compare_blocks([10, 40, 80, 50, 20])
    assert result is not None
    lines = {line.label: _plain(line.says) for line in texts.describe_blocks(result)}
    assert lines == {
        "Mean score": "53.75 %",
        "Elo": "+26.1 (95 % interval: +1.7 to +50.8)",
        "Normalised Elo": "+36.4 (95 % interval: +2.1 to +70.6)",
        "Draw ratio of blocks": "40.0 %",
        "Likelihood of superiority": "98.2 %",
    }
    alike = compare_blocks([0, 0, 9, 0, 0])
    assert alike is not None
    assert "Normalised Elo" not in [line.label for line in texts.describe_blocks(alike)]


def test_a_forecast_beyond_all_limits_says_what_would_help() -> None:
    lines = _describe_lines(_forecast(matches=float(LIMIT), high=float(LIMIT), decided=0.1))
    assert lines["Matches to the verdict"].startswith(
        "more than 1,000,000 in 90 % of cases: a larger margin"
    )
    assert "Core time" not in lines
    lines = _describe_lines(_forecast(round_robin=float(LIMIT)))
    assert lines["A round robin"] == "more than 1,000,000 matches"
    assert "Core time" in lines


def test_a_doubtful_forecast_says_how_often_nothing_is_decided() -> None:
    line = _describe_lines(_forecast(high=float(LIMIT), decided=0.75))["Matches to the verdict"]
    assert "to more than 1,000,000)" in line
    assert "never within 1,000,000 in 25 %" in line


def test_gpu_time_and_money_are_said_where_there_are_some() -> None:
    cost = {"core_s": None, "gpu_s": 3.0, "wall_s": None, "money": 1.5}
    lines = _describe_lines(_forecast(cost=cost))
    assert lines["GPU time"].startswith("about 3 s, by the time of one row alone on a core")
    assert lines["Money"] == "1.50"
    assert lines["Core time"] == lines["On the clock"] == "not measured yet"


def test_what_is_decided_already_takes_nothing() -> None:
    assert _describe_lines(_forecast(matches=0.0)) == {
        "Matches to the verdict": "none: what is known decides it"
    }
    assert _describe_lines(None) == {}


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("", ""),
        ("decided", "decided: it is as sure as was asked for"),
        ("out_of_budget: money", "(all money is spent)"),
        ("out_of_budget: pairing", "(the pairing has nothing more to play)"),
        ("no_results", "no match has a result"),
        ("something new", "something new"),
    ],
)
def test_why_it_ended_is_said_in_words(why: str, text: str) -> None:
    assert text in texts.describe_end(Campaign(why=why))


def test_a_budget_without_limit_has_no_bar() -> None:
    tournament = Tournament(n_done=30, played_s=9.0)
    campaign = Campaign(tournament=tournament, max_matches=120, max_core_s=6.0)
    matches, core = texts.describe_budget(campaign)
    assert (matches.says, matches.percent) == ("30 of 120 spent", 25.0)
    assert (core.says, core.percent) == ("9 s of 6 s spent", 100.0)
    unlimited = texts.describe_budget(Campaign(tournament=tournament, max_matches=120))[1]
    assert (unlimited.says, unlimited.percent) == ("9 s spent, no limit", None)


def test_a_price_shows_what_was_spent(settings: Any) -> None:
    settings.WORKER_PRICES = {"cpu": 3_600.0, "gpu": 0.0}
    tournament = Tournament(n_done=30, played_s=9.0)
    budgets = texts.describe_budget(
        Campaign(tournament=tournament, max_matches=120, max_money=18.0)
    )
    assert (budgets[2].says, budgets[2].percent) == ("9.00 of 18.00 spent", 50.0)


def test_tiny_errors_are_said_exactly() -> None:
    assert "at most 0.01 %" in _plain(texts.describe_terms(Campaign(question="best", error=1e-4)))


def test_a_forecast_over_the_budget_says_what_is_left() -> None:
    [line, *_] = texts.describe_forecast(_forecast(), 136)
    expected = "about 1,200 (80 % lie from 640 to 2,500); the budget leaves 136"
    assert _plain(line.says) == expected
    [enough, *_] = texts.describe_forecast(_forecast(), 1_234)
    assert "budget" not in enough.says


def test_a_forecast_over_the_budget_warns() -> None:
    forecast = {"matches": 1_234.0}
    assert texts.warn_of_forecast(None, 0) is None
    assert texts.warn_of_forecast(forecast, 1_234) is None
    warning = texts.warn_of_forecast(forecast, 400)
    assert warning is not None
    assert "needs about 1,200 more matches, 400 are left" in warning
    endless = texts.warn_of_forecast({"matches": LIMIT}, 400)
    assert endless is not None
    assert "needs more than" in endless
