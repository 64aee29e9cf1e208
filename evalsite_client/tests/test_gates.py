"""What a gate says: in a line, as JSON and as markdown; and stopped, where it stands."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from evalsite_client import Client
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
    gate = client.gates.get(undecided().pk, with_forecast=True)
    assert gates.describe_gate(gate).startswith("LLR ")
    assert " more" in gates.describe_gate(gate)
    assert gate.forecast is not None
    summary = "\n".join(gates.write_markdown(gate, PAIR, "UNDECIDED", 0))
    assert summary.startswith("### UNDECIDED: level:40 against level:60")
    assert "| points of two games | 0 | 1/2 | 1 | 3/2 | 2 |\n|---|---|---|---|---|---|" in summary
    assert "- 100 more matches: bring the verdict in" in summary
    values = json.loads(json.dumps(gates.make_values(gate, gate, PAIR, "UNDECIDED", 0)))
    assert values["pairs"]["n_blocks"] == sum(values["blocks"])
    assert values["forecast"] == values["forecast_before"]


def test_decided_nothing_is_left(client: Client, broker: Redis) -> None:
    agents = ("level:5", "level:95")
    campaign = ended(campaign_of("sprt", agents=agents, parameters=Bounds(0.0, 100.0).parameters))
    gate = client.gates.get(campaign.pk, with_forecast=True)
    assert (gate.is_over, gate.forecast) == (True, None)
    assert " more" not in gates.describe_gate(gate)
    assert "Left to the verdict" not in "\n".join(gates.write_markdown(gate, agents, "FAIL", 0))


def test_without_blocks_there_is_no_table(client: Client, broker: Redis) -> None:
    campaign = campaign_of("sprt", agents=PAIR, parameters=Bounds(0.0, 20.0).parameters)
    gate = client.gates.get(campaign.pk)
    assert "points of two games" not in "\n".join(gates.write_markdown(gate, PAIR, "UNDECIDED", 0))
    assert gates.make_values(gate, gate, PAIR, "UNDECIDED", 0)["pairs"] is None


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


def test_a_verdict_begins_with_the_gap_and_its_interval(client: Client, broker: Redis) -> None:
    agents = ("level:5", "level:95")
    campaign = ended(campaign_of("sprt", agents=agents, parameters=Bounds(0.0, 100.0).parameters))
    gate = client.gates.get(campaign.pk)
    assert re.fullmatch(r"\d+ Elo worse \(\d+( worse)? to \d+( better)?\)", gate.gap)
    assert f"level:5 plays {gate.gap}." in gates.write_markdown(gate, agents, "FAIL", 0)


def test_a_budget_that_will_not_suffice_is_warned_of(client: Client, broker: Redis) -> None:
    gate = client.gates.get(undecided().pk, with_forecast=True)
    assert gate.budget_warning is not None
    assert "The budget will probably not suffice" in gate.budget_warning
