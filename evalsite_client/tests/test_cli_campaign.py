"""`evalsite campaign`: what it says before, meanwhile and at the end, and how it ends."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsite_client import Clock
from evalsite_client.cli import following
from evalsite_client.errors import UnreachableError
from evalsite_client.tests.commands import Evalsite, ok
from matches.artifacts.agents import register_agent
from matches.campaigns import judging
from matches.ledger import pairing_warnings
from matches.ledger.tournaments import cancel_tournament
from matches.models import Campaign
from matches.tests import boards
from matches.tests.factories import later, scheduled
from matches.tests.test_campaigns import campaign_of, go_on
from matches.tests.test_score_campaigns import walk

pytestmark = pytest.mark.django_db(transaction=True)

BOARD = "board-of-campaign"
Work = Callable[[Campaign, int], None]


@pytest.fixture
def campaign(evalsite: Evalsite, monkeypatch: pytest.MonkeyPatch) -> Evalsite:
    """Return what asks a question about the agents of a leaderboard, while a node is there."""
    campaign_of()
    Campaign.objects.all().delete()
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    return lambda *options: evalsite("campaign", "-l", BOARD, *options)


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> Callable[[Work], None]:
    """Return what lets something happen whenever the command sleeps."""

    def let(work: Work) -> None:
        slept: list[float] = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            campaigns = Campaign.objects.select_related("tournament__leaderboard")
            work(campaigns.latest("pk"), len(slept))

        clock = Clock(monotonic=lambda: 10.0 * len(slept), sleep=sleep)
        monkeypatch.setattr("evalsite_client.client.Clock", lambda: clock)

    return let


def plays() -> Work:
    play = boards.by_strength(forfeits=0)
    return lambda campaign, n: go_on(campaign, 2.0 * n, play)


def test_it_ends_with_0_and_the_verdict(campaign: Evalsite, works: Any, tmp_path: Path) -> None:
    works(plays())
    path = tmp_path / "c.json"
    status, out, err = campaign("--max-matches", 400, "--json", path)
    assert status == 0, err
    assert out.startswith("agents          4\n")
    assert "to the verdict  about" in out
    assert "a cluster\ncampaign " in out
    assert "16 of at most 400 matches, P(best)" in err
    assert "level:95 is the best" in out
    saved = json.loads(path.read_text())
    assert saved["subjects"] == ["level:95"]
    assert (saved["exit_code"], saved["why"]) == (0, "decided")


def test_mean_scores_are_asked_for_without_a_forecast(campaign: Evalsite, works: Any) -> None:
    levels = ("level:5", "level:60", "level:90")
    opened = scheduled(3, agents=levels, game="dice_walk", board="walks")
    cancel_tournament(opened, now=later(0))
    works(lambda row, n: go_on(row, 2.0 * n, walk))
    options = ("-l", "walks", "--margin-score", 0, "--max-matches", 400)
    status, out, err = campaign(*options)
    assert status == 0, err
    assert out.startswith("no forecast of mean scores: it plays 400 matches at most\n")
    assert "level:90 is the best" in out
    status, _, err = campaign(*options, "--forecast")
    assert (status, "there is no forecast" in err) == (2, True)


def test_a_sequential_test_says_its_ratio(campaign: Evalsite, works: Any) -> None:
    works(plays())
    options = ("--question", "sprt", "--agents", "level:5,level:95", "-p", "elo1=100")
    _, out, err = campaign(*options)
    assert "matches, LLR -" in err
    assert "P(best)" not in out


def test_another_question_says_how_likely_its_answer_is(
    campaign: Evalsite, works: Any, evalsite: Evalsite
) -> None:
    works(plays())
    status, out, err = campaign("--question", "rank_all", "--max-matches", 64)
    assert (status, "the likeliest answer is true with" in err) == (3, True)
    assert re.search(r"^why +out of budget: the likeliest answer so far", out, re.MULTILINE)
    assert "saved" not in out
    ended = Campaign.objects.get()
    first, *_, last = ended.tournament.agents.order_by("entrant__position")
    Campaign.objects.update(n_known=12, upsets=[[last.pk, first.pk]])
    status, out, _ = evalsite("verdict", ended.pk)
    assert re.search(f"^other way round +{last.name} beats {first.name}$", out, re.MULTILINE)
    assert re.search(r"^saved +12 matches were known before and not played$", out, re.MULTILINE)


def test_progress_of_top_k_is_of_its_answer(campaign: Evalsite, works: Any) -> None:
    works(plays())
    _, out, err = campaign("--question", "top_k", "-p", "k=2", "--max-matches", 64)
    likely = r"most likely: level:\d+ and level:\d+ are the best 2"
    assert re.search(rf"matches, {likely}, \d+\.\d%", err)
    assert "P(best)" not in err
    assert "P(best)" in out


def test_a_top_k_that_was_stopped_names_whom_it_would_have_named(
    evalsite: Evalsite, tmp_path: Path
) -> None:
    campaign = campaign_of("top_k", parameters={"k": 2}, error=1e-9)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    likely = r"level:\d+ and level:\d+ are the best 2"
    left = {
        **(Campaign.objects.get().forecast or {}),
        "matches": 512.0,
        "low": 391.0,
        "high": 998.0,
        "decided": 1.0,
    }
    Campaign.objects.update(forecast=left)
    _, out, _ = evalsite("verdict", campaign.pk)
    assert re.search(
        r"^to the verdict +about 510 \(390 to 1,000\); the budget leaves 384$", out, re.MULTILINE
    )
    assert re.search("^cores ", out, re.MULTILINE)
    Campaign.objects.update(forecast=left | {"high": 1e6, "decided": 0.75, "round_robin": 1e6})
    _, out, _ = evalsite("verdict", campaign.pk)
    assert "about 510 (390 to more than 1,000,000), never in 25.0% of cases; the budget" in out
    assert re.search("^by round robin +more than 1,000,000 matches$", out, re.MULTILINE)
    Campaign.objects.update(forecast=left | {"matches": 1e6, "high": 1e6, "decided": 0.25})
    _, out, _ = evalsite("verdict", campaign.pk)
    assert "more than 1,000,000 in 75.0% of cases; the budget leaves 384" in out
    assert not re.search("^cores ", out, re.MULTILINE)
    assert re.search(rf"^verdict +none yet; most likely: {likely}$", out, re.MULTILINE)
    cancel_tournament(campaign.tournament, now=later(3))
    judging.judge_campaign(Campaign.objects.get(), now=later(3))
    status, out, _ = evalsite("verdict", campaign.pk)
    assert status == 3
    assert re.search(rf"^verdict +none; most likely: {likely}$", out, re.MULTILINE)
    assert re.search(r"^probability +0\.\d+$", out, re.MULTILINE)
    Campaign.objects.update(why="no_results", statement="no match has a result", probability=None)
    _, out, _ = evalsite("verdict", campaign.pk)
    assert re.search(r"^verdict +no match has a result$", out, re.MULTILINE)


def test_a_pairing_that_suits_badly_is_warned_of(
    campaign: Evalsite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairing_warnings, "warn_before_start", lambda *_, **__: "It is close.")
    out = ok(
        campaign("--forecast", "--pairing", "posterior_sample", "--pairing-parameter", "top=2")
    )
    assert "warning         It is close.\n" in out


def test_out_of_budget_is_3(campaign: Evalsite, works: Any) -> None:
    works(plays())
    status, out, _ = campaign("--error", 1e-9, "--max-matches", 32, "--question", "rank_all")
    assert status == 3
    assert "as sure as asked for (all matches are played)" in out
    assert re.search(r"verdict +none; most likely: level:\d+ > level:\d+", out)
    assert "ask again with a larger budget or a larger margin" in out
    assert re.search(r"likeliest order +level:\d+ \d+\.\d% > level:\d+", out)


def test_a_budget_below_the_forecast_is_warned_of(campaign: Evalsite) -> None:
    options = ("--question", "rank_all", "--error", 1e-3, "--forecast")
    assert "The budget will probably not suffice" in ok(campaign(*options, "--max-matches", 2))
    assert "The budget" not in ok(campaign("--forecast", "--max-matches", 1_000_000))


def test_cancelled_by_somebody_is_3(campaign: Evalsite, works: Any) -> None:
    def stop(row: Campaign, n: int) -> None:
        cancel_tournament(row.tournament, now=later(n))
        judging.judge_all(now=later(n))

    works(stop)
    status, out, _ = campaign()
    assert (status, "stopped before it was decided" in out) == (3, True)
    assert "is true with" not in out


def test_after_ctrl_c_the_campaign_goes_on_and_what_is_known_is_written(
    campaign: Evalsite, works: Any, tmp_path: Path
) -> None:
    play, path = plays(), tmp_path / "c.json"

    def interrupt(row: Campaign, n: int) -> None:
        play(row, n)
        raise KeyboardInterrupt

    works(interrupt)
    status, _, err = campaign("--json", path)
    assert status == 130
    assert "goes on: `evalsite cancel" in err
    assert Campaign.objects.get().decided_at is None
    saved = json.loads(path.read_text())
    assert (saved["exit_code"], saved["why"]) == (130, "")
    assert "level:95" in saved["chances"]


def test_after_ctrl_c_while_the_server_is_away_what_was_known_is_written(
    campaign: Evalsite, works: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_away(*_: object, **__: object) -> None:
        raise UnreachableError("nobody answers")

    def interrupt(_: Campaign, __: int) -> None:
        monkeypatch.setattr("evalsite_client.nouns.Campaigns.get", is_away)
        raise KeyboardInterrupt

    works(interrupt)
    file = tmp_path / "campaign.json"
    status, _, complaint = campaign("--json", file)
    assert status == 130, complaint
    saved = json.loads(file.read_text())
    assert (saved["exit_code"], saved["campaign"]) == (130, Campaign.objects.latest("pk").pk)


def test_a_forecast_starts_nothing(campaign: Evalsite, tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    assert "margin          0.4" in ok(campaign("--forecast", "--margin-elo", 20, "--json", path))
    assert json.loads(path.read_text())["forecast"]["matches"] > 0
    output = ok(campaign("--forecast", "--question", "sprt", "--agents", "level:5,level:95"))
    assert "ends accepted" in output
    assert not Campaign.objects.exists()


REFUSED = [
    ("-l none", "leaderboard: "),
    (
        "--agents level:5,nobody",
        "there is no agent of skill_game named 'nobody': register it first",
    ),
    ("--agents random,level:7", "named 'random', 'level:7': register it first (`evaluate` does so"),
    ("--question top_k -p k=9", "k must be from 1 to below the 4"),
    ("--pairing lottery", "pairing: "),
    ("--error 0.6", "error must be between 0 and 0.5"),
    ("--margin 1 --margin-elo 2", "not allowed with argument --margin"),
    ("--max-matches 0", "argument --max-matches: must be 1.."),
]


def test_bad_input_is_2_and_named(campaign: Evalsite) -> None:
    for options, words in REFUSED:
        status, _, err = campaign(*options.split())
        assert status == 2, (options, err)
        assert words in err, (options, err)
    assert not Campaign.objects.exists()


def test_mean_scores_of_two_seats_are_refused_and_nothing_else_is_said(campaign: Evalsite) -> None:
    status, out, err = campaign("--margin-score", 5, "--max-matches", 10)
    assert (status, out) == (2, "")
    assert err.startswith("evalsite: margin_score: compares scores of games of one seat")


def test_all_is_everybody_alone_and_a_name_among_others(campaign: Evalsite) -> None:
    assert ok(campaign("--agents", "all", "--forecast")).startswith("agents          4")
    named = ("--agents", "level:5,level:95,all")
    status, _, err = campaign(*named, "--forecast")
    assert (status, "there is no agent of skill_game named 'all'" in err) == (2, True)
    register_agent("all", game="skill_game", policy="level", parameters={"level": 7})
    for options in (named, ("level:5", "level:95", "all")):
        assert ok(campaign(*options, "--forecast")).startswith("agents          3")
