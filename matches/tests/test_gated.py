"""What a gate says: in a line, as JSON and as markdown."""

import json

import pytest
from redis import Redis

from matches.campaigns import gates
from matches.campaigns.gates import Bounds, Standing
from matches.management import gated
from matches.tests import boards
from matches.tests.factories import NOW, later
from matches.tests.test_campaigns import campaign_of, ended, go_on

pytestmark = pytest.mark.django_db(transaction=True)

PAIR = ("level:40", "level:60")


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def undecided(elo1: float = 3.0) -> Standing:
    parameters = Bounds(0.0, elo1).parameters
    campaign = campaign_of("sprt", agents=PAIR, parameters=parameters, max_matches=16)
    go_on(campaign, 0, boards.by_strength(forfeits=0))
    return gates.standing(campaign, n_reused=0)


def test_while_it_runs_a_line_says_about_how_much_is_left() -> None:
    found = undecided()
    found.campaign.decided_at = None
    assert "LLR " in gated.line(found)
    assert " more" in gated.line(found)
    found.campaign.decided_at = NOW
    assert " more" not in gated.line(found)


def test_undecided_it_says_what_is_left() -> None:
    found = undecided()
    left = gates.left(found.campaign, now=later(5))
    assert left is not None
    assert any("Matches to the verdict" in said for said in gated.foreseen(left))
    whole = Standing(found.campaign, found.state, found.counts, 0, before=left, left=left)
    summary = gated.as_markdown(whole, PAIR, "UNDECIDED")
    assert summary.startswith("### UNDECIDED: level:40 against level:60")
    assert "| points of two games | 0 | 1/2 | 1 | 3/2 | 2 |\n|---|---|---|---|---|---|" in summary
    assert "- 100 more matches: bring the verdict in" in summary
    told = json.loads(json.dumps(gated.as_json(whole, PAIR, "UNDECIDED", at=NOW)))
    assert told["pairs"]["n_blocks"] == sum(told["blocks"])
    assert told["forecast"] == told["forecast_before"] == left


def test_decided_nothing_is_left() -> None:
    agents = ("level:5", "level:95")
    campaign = ended(campaign_of("sprt", agents=agents, parameters=Bounds(0.0, 100.0).parameters))
    assert gates.left(campaign, now=later(900)) is None
    found = gates.standing(campaign, n_reused=0)
    assert "Left to the verdict" not in gated.as_markdown(found, agents, "FAIL")
    assert list(gated.foreseen(None)) == []


def test_without_blocks_there_is_no_table() -> None:
    campaign = campaign_of("sprt", agents=PAIR, parameters=Bounds(0.0, 20.0).parameters)
    found = gates.standing(campaign, n_reused=0)
    assert "points of two games" not in gated.as_markdown(found, PAIR, "UNDECIDED")
    assert gated.as_json(found, PAIR, "UNDECIDED", at=NOW)["pairs"] is None
