"""What a gate says: in a line, as JSON and as markdown; and stopped, where it stands."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from evalsite_client import Client
from evalsite_client.api.shared import Strength
from evalsite_client.cli import following, gates
from evalsite_client.errors import UnreachableError
from evalsite_client.tests.commands import Evalsite
from matches.campaigns.gates import Bounds
from matches.models import Campaign
from matches.tests import boards
from matches.tests.test_campaigns import campaign_of, ended, go_on

pytestmark = pytest.mark.django_db(transaction=True)

PAIR = ("level:40", "level:60")


@pytest.fixture
def client(evalsite: Evalsite) -> Iterator[Client]:
    with Client() as one:
        yield one


def undecided() -> Campaign:
    parameters = Bounds(0.0, 3.0).parameters
    campaign = campaign_of("sprt", agents=PAIR, parameters=parameters, max_matches=16)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    Campaign.objects.filter(pk=campaign.pk).update(decided_at=None, why="", statement="")
    return campaign


def test_undecided_it_says_what_is_left(client: Client, broker: Redis) -> None:
    found = client.gates.get(undecided().pk, with_forecast=True)
    assert gates.describe_gate(found).startswith("LLR ")
    assert " more" in gates.describe_gate(found)
    assert found.forecast is not None
    summary = "\n".join(gates.write_markdown(found, PAIR, "UNDECIDED", 0))
    assert summary.startswith("### UNDECIDED: level:40 against level:60")
    assert "| points of two games | 0 | 1/2 | 1 | 3/2 | 2 |\n|---|---|---|---|---|---|" in summary
    assert "- 100 more matches: bring the verdict in" in summary
    told = json.loads(json.dumps(gates.make_values(found, found, PAIR, "UNDECIDED", 0)))
    assert told["pairs"]["n_blocks"] == sum(told["blocks"])
    assert told["forecast"] == told["forecast_before"]


def test_decided_nothing_is_left(client: Client, broker: Redis) -> None:
    agents = ("level:5", "level:95")
    campaign = ended(campaign_of("sprt", agents=agents, parameters=Bounds(0.0, 100.0).parameters))
    found = client.gates.get(campaign.pk, with_forecast=True)
    assert (found.is_over, found.forecast) == (True, None)
    assert " more" not in gates.describe_gate(found)
    assert "Left to the verdict" not in "\n".join(gates.write_markdown(found, agents, "FAIL", 0))


def test_without_blocks_there_is_no_table(client: Client, broker: Redis) -> None:
    campaign = campaign_of("sprt", agents=PAIR, parameters=Bounds(0.0, 20.0).parameters)
    found = client.gates.get(campaign.pk)
    assert "points of two games" not in "\n".join(gates.write_markdown(found, PAIR, "UNDECIDED", 0))
    assert gates.make_values(found, found, PAIR, "UNDECIDED", 0)["pairs"] is None


def test_stopped_it_writes_where_it_stands(
    evalsite: Evalsite, broker: Redis, tmp_path: Path, monkeypatch: Any
) -> None:
    board = undecided().tournament.leaderboard.name

    def stop_at_once(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    monkeypatch.setattr(gates, "wait_for_gate", stop_at_once)
    saved, summary = tmp_path / "gate.json", tmp_path / "gate.md"
    files = ("--json", saved, "--markdown", summary)
    bounds = ("--bounds", "0,3", "--leaderboard", board)
    pair = ("--candidate", PAIR[0], "--baseline", PAIR[1])
    status, printed, complaint = evalsite("gate", *pair, *bounds, *files)
    assert status == 130, complaint
    assert "the test goes on" in complaint
    assert json.loads(saved.read_text())["result"] == "interrupted"
    assert summary.read_text().startswith("### INTERRUPTED: level:40 against level:60")
    assert "LLR" in printed


def test_stopped_while_the_server_is_away_it_writes_where_it_stood(
    evalsite: Evalsite, broker: Redis, tmp_path: Path, monkeypatch: Any
) -> None:
    board = undecided().tournament.leaderboard.name

    def is_away(*_: object, **__: object) -> None:
        raise UnreachableError("nobody answers")

    def stop_at_once(*_: object, **__: object) -> None:
        monkeypatch.setattr("evalsite_client.api.gates.Gates.get", is_away)
        raise KeyboardInterrupt

    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    monkeypatch.setattr(gates, "wait_for_gate", stop_at_once)
    pair = ("--candidate", PAIR[0], "--baseline", PAIR[1], "--bounds", "0,3")
    saved = tmp_path / "gate.json"
    status, _, complaint = evalsite("gate", *pair, "--leaderboard", board, "--json", saved)
    assert (status, "the test goes on" in complaint) == (130, True), complaint
    assert json.loads(saved.read_text())["result"] == "interrupted"


@pytest.mark.parametrize("command", ["gate a b", "watch runs/ppo"])
def test_a_server_that_is_away_is_no_verdict(
    command: str, evalsite: Evalsite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise UnreachableError("nobody answers")

    monkeypatch.setattr("evalsite_client.cli.main._run_command", away)
    assert evalsite(*command.split())[0] == 2


def test_a_gap_is_told_with_its_direction_and_interval(client: Client, broker: Redis) -> None:
    found = client.gates.get(undecided().pk)

    def describe(elo: float, low: float, high: float) -> str:
        assert found.pairs is not None
        pairs = replace(found.pairs, elo=Strength(elo, low, high))
        return gates.describe_gap(replace(found, pairs=pairs))

    assert describe(-47.2, -65.1, -29.3) == "47 Elo worse (29 to 65)"
    assert describe(12.0, -3.4, 27.0) == "12 Elo better (-3 to 27)"
    assert gates.describe_gap(replace(found, pairs=None)) == ""
