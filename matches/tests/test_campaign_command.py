"""`./run manage campaign`: what it says before, meanwhile and at the end, and its exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from redis import Redis

from matches.campaigns import judging
from matches.ledger.tournaments import cancel_tournament
from matches.management import following
from matches.models import Campaign
from matches.tests import boards
from matches.tests.factories import later
from matches.tests.test_campaigns import campaign_of, go_on

pytestmark = pytest.mark.django_db(transaction=True)

BOARD = "board-of-campaign"


@pytest.fixture(autouse=True)
def _cluster(valkey_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Redis.from_url(valkey_url).flushall()
    campaign_of()
    Campaign.objects.all().delete()
    monkeypatch.setattr(following, "wait_for_cluster", lambda: "a cluster")


class Clock:
    """Plays on whenever the command sleeps."""

    def __init__(self, work: Callable[[Campaign, int], None]) -> None:
        self.work, self.n = work, 0

    def sleep(self, _: float) -> None:
        self.n += 1
        self.work(Campaign.objects.select_related("tournament__leaderboard").get(), self.n)

    def monotonic(self) -> float:
        return 10.0 * self.n


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Campaign, int], None]], None]:
    def let(work: Callable[[Campaign, int], None]) -> None:
        monkeypatch.setattr(following, "time", Clock(work))

    return let


def asked(*options: str) -> int:
    """Return the exit code."""
    try:
        call_command("campaign", "--leaderboard", BOARD, *options)
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def plays() -> Callable[[Campaign, int], None]:
    play = boards.by_strength(forfeits=0)
    return lambda campaign, n: go_on(campaign, 2.0 * n, play)


def test_it_ends_with_0_and_the_verdict(works: Any, capsys: Any, tmp_path: Path) -> None:
    works(plays())
    assert asked("--max-matches", "400", "--json", str(tmp_path / "c.json")) == 0
    said = capsys.readouterr().out
    assert said.startswith("best of 4 agents, known of them: 0 matches")
    assert "Matches to the verdict: about" in said
    assert "16 of at most 400 matches, P(best)" in said
    assert "\nlevel:95 is the best\n  with 9" in said
    found = json.loads((tmp_path / "c.json").read_text())
    assert found["subjects"] == ["level:95"]
    assert (found["exit_code"], found["why"]) == (0, "decided")


def test_out_of_budget_is_3(works: Any, capsys: Any) -> None:
    works(plays())
    assert asked("--error", "1e-9", "--max-matches", "32", "--question", "rank_all") == 3
    said = capsys.readouterr().out
    assert "the likeliest answer is true with" in said
    assert "out of budget: the likeliest answer so far" in said


def test_cancelled_by_somebody_is_3(works: Any, capsys: Any) -> None:
    def stop(campaign: Campaign, n: int) -> None:
        cancel_tournament(campaign.tournament, now=later(n))
        judging.judge_all(now=later(n))

    works(stop)
    assert asked() == 3
    assert "\ncancelled\n" in capsys.readouterr().out


def test_after_ctrl_c_the_campaign_goes_on_and_what_is_known_is_written(
    works: Any, capsys: Any, tmp_path: Path
) -> None:
    play, path = plays(), tmp_path / "c.json"

    def interrupt(campaign: Campaign, n: int) -> None:
        play(campaign, n)
        raise KeyboardInterrupt

    works(interrupt)
    with pytest.raises(CommandError, match=r"goes on by itself; .* `evalsite cancel") as ended:
        asked("--json", str(path))
    assert ended.value.returncode == 130
    assert Campaign.objects.get().decided_at is None
    written = json.loads(path.read_text())
    assert (written["exit_code"], written["why"]) == (130, "")
    assert "16 of at most" in capsys.readouterr().out


def test_a_forecast_starts_nothing(capsys: Any, tmp_path: Path) -> None:
    assert asked("--forecast", "--margin-elo", "20", "--json", str(tmp_path / "f.json")) == 0
    assert "a gap of 0.4" in capsys.readouterr().out
    assert json.loads((tmp_path / "f.json").read_text())["forecast"]["matches"] > 0
    assert not Campaign.objects.exists()


def test_a_sequential_test_is_forecast(capsys: Any) -> None:
    assert asked("--forecast", "--question", "sprt", "--agents", "level:5,level:95") == 0
    said = capsys.readouterr().out
    assert "Matches to the verdict: about" in said
    assert "It ends accepted: in" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--leaderboard", "none"), f"leaderboard: there is none named 'none', but {BOARD}"),
        (("--agents", "level:5,nobody"), "agents: there is no agent of skill_game named 'nobody'"),
        (("--question", "top_k", "-p", "k=9"), "parameters: k must be from 1 to below the 4"),
        (("--pairing", "lottery"), "pairing: .*choose one of double_round_robin, gauntlet"),
        (("--error", "0.6"), "argument --error: must be 1e-09..0.4999, got 0.6"),
        (("--margin", "1", "--margin-elo", "2"), "not allowed with argument --margin"),
    ],
)
def test_bad_input_is_2_and_named(options: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said) as ended:
        asked(*options)
    assert ended.value.returncode in (1, 2)  # argparse itself ends a real command with 2
    assert not Campaign.objects.exists()
