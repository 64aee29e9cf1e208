"""`evalsite winrates`: all pairs of a run, as often as asked; it goes on, and plays none twice."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from evalsite_client.cli import following, winrates
from evalsite_client.cli.winrates import Pair
from evalsite_client.tests.commands import Evalsite, ok
from matches.ledger import planning, recording
from matches.models import Agent, Checkpoint, Tournament
from matches.ratings import rater
from matches.store.clock import db_now
from matches.tests import boards
from matches.tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)

BOARD = "winrates-skill-game-ppo"


def add_step(step: int, *, game: str = "skill_game", run: str = "ppo") -> Agent:
    """Add an agent of a checkpoint of a run, whose level is its step."""
    checkpoint = Checkpoint.objects.create(
        **{"sha256": f"{step:064x}", "game": game, "architecture": "mlp", "run": run},
        **{"step": step, "n_bytes": 1, "state": "ready", "created_at": make.NOW},
    )
    return Agent.objects.create(
        **{"name": f"{run}@{step}", "game": game, "policy": "level"},
        **{"parameters": {"level": step}, "checkpoint": checkpoint},
    )


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Play so many matches of a tournament whenever it is followed; later steps win more often."""
    per_look, plain = [1_000], following.follow_tournament
    play = boards.by_strength(forfeits=0)
    monkeypatch.setattr(following, "wait_for_cluster", lambda client: "one node")

    def play_and_follow(client: Any, tournament: int, *arguments: Any, **more: Any) -> Any:
        row = Tournament.objects.get(pk=tournament)
        planning.plan_tournament(row, now=make.NOW)
        make.alive()
        pending = row.matches.filter(state="pending").values_list("needs", flat=True)
        order = make.ordered(row, per_look[0], needs=pending[0])
        make.start(order)
        recording.record_report(make.finished(order, play), now=make.NOW)
        rater.rate(row.leaderboard_id, now=db_now())
        row.refresh_from_db()
        if row.n_closed < row.n_matches:
            raise KeyboardInterrupt
        return plain(client, tournament, *arguments, **more)

    monkeypatch.setattr(following, "follow_tournament", play_and_follow)
    return per_look


def test_it_plays_all_pairs_goes_on_and_plays_nothing_twice(
    evalsite: Evalsite, follow: list[int], tmp_path: Path
) -> None:
    for step in (10, 20, 30):
        add_step(step)
    command = ("winrates", "--run", "ppo", "--matches", 6, "--out", tmp_path)
    follow[0] = 5
    status, _, complaint = evalsite(*command)
    assert status == 130
    assert "the same command goes on" in complaint
    follow[0] = 1_000
    table = ok(evalsite(*command))
    assert "win rate of" in table
    assert Tournament.objects.get().n_done == 18
    assert ok(evalsite(*command)).splitlines()[-3:] == table.splitlines()[-3:]
    assert Tournament.objects.count() == 1
    value = json.loads((tmp_path / "winrates.json").read_text())
    assert value["leaderboard"] == BOARD
    assert {pair["wins"] + pair["draws"] + pair["losses"] for pair in value["pairs"]} == {6}
    rows = list(csv.DictReader((tmp_path / "winrates.csv").open()))
    assert [(row["first"], row["second"]) for row in rows] == [
        ("ppo@10", "ppo@20"),
        ("ppo@10", "ppo@30"),
        ("ppo@20", "ppo@30"),
    ]


@pytest.mark.usefixtures("follow")
def test_a_new_checkpoint_is_taken_in_and_pairs_that_lack_nothing_play_no_more(
    evalsite: Evalsite, tmp_path: Path
) -> None:
    command = ("winrates", "--run", "ppo", "--matches", 4, "--out", tmp_path)
    for step in (10, 20):
        add_step(step)
    ok(evalsite(*command))
    add_step(30)
    table = ok(evalsite(*command))
    assert "-" not in table.splitlines()[-1].split()
    value = json.loads((tmp_path / "winrates.json").read_text())
    assert [pair["wins"] + pair["draws"] + pair["losses"] for pair in value["pairs"]] == [4] * 3
    assert [one.seed for one in Tournament.objects.order_by("pk")] == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ("--run other", "run: 'other' has 0 checkpoint(s) here"),
        ("--run ppo", "game: is missing: 'ppo' has checkpoints of connect_four, skill_game"),
        ("--run ppo --game skill_game", "run: 'ppo' has 1 checkpoint(s) here"),
        ("--run ppo --matches 1", "--matches"),
    ],
)
def test_it_refuses_bad_input_naming_the_value(
    evalsite: Evalsite, arguments: str, refusal: str
) -> None:
    add_step(1)
    Checkpoint.objects.create(
        **{"sha256": "f" * 64, "game": "connect_four", "architecture": "mlp", "run": "ppo"},
        **{"n_bytes": 1, "state": "ready", "created_at": make.NOW},
    )
    status, _, complaint = evalsite("winrates", *arguments.split())
    assert status == 2
    assert refusal in complaint
    assert not Tournament.objects.exists()


def test_the_interval_is_wilsons() -> None:
    """Of 8 wins among 10: 0.490 to 0.943 (Wilson, 1927)."""
    pair = Pair("a", "b", 8, 0, 2)
    assert [round(end, 3) for end in pair.interval] == [0.49, 0.943]
    assert pair.turned().win_rate == pytest.approx(0.2)
    assert Pair("a", "b", 0, 0, 0).interval == (0, 1)


def test_pairs_that_lack_matches_are_told() -> None:
    pairs = [Pair("a", "b", 3, 0, 1), Pair("a", "c", 1, 0, 0)]
    assert winrates.describe_lack(pairs, 4).startswith("1 of 2 pairs have fewer than 4 matches")
    assert winrates.describe_lack(pairs[:1], 4) == ""
