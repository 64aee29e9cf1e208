"""What operators do on the command line, against the running app."""

from typing import Any

import pytest

from evalsite_client import Client
from evalsite_client.cli.watching import make_alarm_values
from evalsite_client.tests.commands import Evalsite, as_json, ok
from matches.models import Agent, AuditRow, Campaign, Match, Schedule, Season, Tournament, Worker
from matches.tests import boards, factories
from matches.tests.admin_acts import an_alarm, campaign_under_way

pytestmark = pytest.mark.django_db(transaction=True)

WHY = ("--reason", "it looks odd")


def _acts() -> list[tuple[str, str]]:
    return list(AuditRow.objects.order_by("pk").values_list("action", "reason"))


def test_agents_and_nodes_are_quarantined_and_released(evalsite: Evalsite) -> None:
    factories.planned()
    factories.alive()
    agent, worker = Agent.objects.earliest("pk"), Worker.objects.get()
    output = ok(evalsite("quarantine", "agent", agent.pk, *WHY))
    assert output == f"{agent.name} is in quarantine: its matches wait for its release\n"
    assert "is in quarantine" in ok(evalsite("quarantine", "worker", worker.pk, *WHY))
    assert as_json(evalsite("release", "agent", agent.pk, "--json"))["quarantined_at"] is None
    assert "is released" in ok(evalsite("release", "worker", worker.pk))
    assert _acts() == [
        ("agent.quarantine", "it looks odd"),
        ("worker.quarantine", "it looks odd"),
        ("agent.release", ""),
        ("worker.release", ""),
    ]


def test_agents_and_nodes_are_named_where_they_are_operated(evalsite: Evalsite) -> None:
    factories.planned()
    factories.alive()
    agent, worker = Agent.objects.earliest("pk"), Worker.objects.get()
    assert "is in quarantine" in ok(evalsite("quarantine", "agent", agent.name, *WHY))
    assert "is released" in ok(evalsite("release", "agent", agent.name, "--game", agent.game))
    assert "is in quarantine" in ok(evalsite("quarantine", "worker", worker.node, *WHY))
    assert ok(evalsite("retire", agent.name)).endswith("retired     yes\n")
    assert ok(evalsite("unretire", agent.name)).endswith("retired     no\n")
    status, _, err = evalsite("retire", "nobody")
    assert (status, "there is no agent 'nobody'" in err) == (2, True)


def test_a_number_is_not_taken_for_a_name(evalsite: Evalsite) -> None:
    factories.planned()
    first, second = Agent.objects.order_by("pk")[:2]
    Agent.objects.filter(pk=second.pk).update(name=str(first.pk))
    ok(evalsite("retire", first.pk))
    assert Agent.objects.get(pk=first.pk).is_retired
    assert not Agent.objects.get(pk=second.pk).is_retired


def test_matches_are_declared_void_and_played_again(evalsite: Evalsite) -> None:
    board = boards.played_board(n_matches=84).leaderboard
    first, second = Match.objects.order_by("pk").values_list("pk", flat=True)[:2]
    output = ok(evalsite("void", first, second, *WHY))
    assert output.startswith("void: 0 that were open, 2 with an outcome, 0 were it before")
    assert board.name in output
    again = as_json(evalsite("requeue", first, second, *WHY, "--json"))
    assert again["n_new"] == 2
    assert f"{first} is played again as " in ok(evalsite("requeue", first, *WHY))


def test_a_season_is_frozen_listed_and_begun_and_a_board_rated_again(evalsite: Evalsite) -> None:
    name = boards.played_board(n_matches=84).leaderboard.name
    assert ok(evalsite("seasons", name)) == "none\n"
    assert "spring, keeps 7 agents, 84 outcomes" in ok(evalsite("freeze", name, "spring", *WHY))
    assert "summer has begun" in ok(evalsite("begin", name, "summer", "--mode", "carry"))
    assert "84 outcomes" in ok(evalsite("rerate", name, *WHY))
    assert len(as_json(evalsite("seasons", name, "--json"))) == Season.objects.count() == 2


def test_schedules_are_added_listed_switched_and_removed(evalsite: Evalsite) -> None:
    board = factories.planned().leaderboard.name
    crontab = ("--crontab", "30 4 * * 1", "-l", board)
    agents = list(Agent.objects.order_by("pk")[:2])
    two = ("-n", 12, agents[0].name, agents[1].pk)
    made = as_json(evalsite("schedule-at", "--name", "weekly", *crontab, *two, "--json"))
    assert (made["crontab"], made["n_matches"]) == ("30 4 * * 1", 12)
    assert made["agents"] == [agent.pk for agent in agents]
    question = ("-q", "best", "--margin", 1, "--error", 0.01, "-n", 500)
    output = ok(evalsite("schedule-at", "--name", "daily", *crontab, *question))
    assert "starts       best" in output
    ok(evalsite("schedule-at", "--name", "yearly", *crontab, "--season", "carry"))
    once = ("--once", "2127-01-01T04:00:00Z", "-l", board, "-n", 12)
    assert "2127-01-01 04:00:00" in ok(evalsite("schedule-at", "--name", "once", *once))
    assert "enabled      no" in ok(evalsite("disable", made["id"], *WHY))
    assert "weekly" not in ok(evalsite("schedules", "--enabled", "-l", board))
    assert "enabled      yes" in ok(evalsite("enable", made["id"]))
    assert "weekly" in ok(evalsite("explain", "schedule", made["id"]))
    assert "is removed" in ok(evalsite("unschedule", made["id"]))
    names = {row["name"] for row in as_json(evalsite("schedules", "--json"))}
    assert (
        names
        == set(Schedule.objects.values_list("name", flat=True))
        == {
            *("daily", "yearly", "once"),
        }
    )


def test_a_campaign_says_what_it_would_take_and_what_was_known_already(evalsite: Evalsite) -> None:
    board = boards.played_board(n_matches=84).leaderboard.name
    ahead = ok(evalsite("campaign", "-l", board, "--margin", 1, "--forecast"))
    assert "known matches   84\n" in ahead
    assert not Campaign.objects.exists()
    ok(evalsite("campaign", "-l", board, "--margin", 1, "--no-wait"))
    campaign = Campaign.objects.get()
    Campaign.objects.update(n_known_elsewhere=4)
    Tournament.objects.filter(pk=campaign.tournament_id).update(n_known=1_200)
    text = evalsite("verdict", campaign.pk)[1]
    assert "84 matches, 4 of them from other leaderboards, were known before and not played" in text
    assert "1,200 matches of this tournament: known games, not played again" in text


def test_a_campaign_is_stopped_and_its_verdict_waited_for(evalsite: Evalsite) -> None:
    campaign = campaign_under_way()
    assert f"campaign {campaign.pk} stops" in ok(evalsite("stop", campaign.pk))
    campaign.tournament.refresh_from_db()
    assert campaign.tournament.state == Tournament.State.CANCELLED
    noted = AuditRow.objects.get(target_kind="campaign", target_id=campaign.pk)
    assert noted.action == "campaign.stop"
    Campaign.objects.filter(pk=campaign.pk).update(
        decided_at=campaign.tournament.created_at, why="cancelled", statement="cancelled"
    )
    status, out, _ = evalsite("verdict", campaign.pk, "--wait")
    assert (status, "stopped before it was decided" in out) == (3, True)
    assert f"campaign {campaign.pk} had ended before" in ok(evalsite("stop", campaign.pk))


def test_alarms_are_listed_and_acknowledged(evalsite: Evalsite) -> None:
    alarm = an_alarm()
    assert alarm.agent.name in ok(evalsite("alarms", "--open"))
    output = ok(evalsite("acknowledge", alarm.pk, *WHY))
    assert output == f"alarm {alarm.pk} was acknowledged by ada\n"
    assert ok(evalsite("alarms", "--open")) == "none\n"
    assert "ada" in ok(evalsite("alarms", "-l", alarm.campaign.tournament.leaderboard.name))


def test_an_alarm_is_posted_with_a_sentence_for_people(evalsite: Evalsite) -> None:
    campaign = an_alarm().campaign
    with Client() as client:
        (alarm,) = client.alarms.list()
    posted = make_alarm_values(alarm, game="skill_game", tournament=campaign.tournament_id)
    worse, better = alarm.agent.name, alarm.ancestor.name
    sentence = f"REGRESSION: {worse} is worse than {better} by more than 1 with a probability of"
    assert posted["text"] == f"{sentence} 97.0%"
    assert (posted["event"], posted["agent"]) == ("regression", worse)


REFUSED = [
    ("quarantine agent 77", "--reason"),
    ("quarantine agent 77 --reason odd", "there is no agent 77: `evalsite agents` lists them"),
    ("quarantine worker 77 --reason odd", "there is no worker 77"),
    ("quarantine match 77 --reason odd", "invalid choice: 'match'"),
    ("void 77 --reason odd", "77"),
    ("void x --reason odd", "'x' is no whole number from 1 on"),
    ("requeue 77 --reason odd", "77"),
    ("freeze nowhere spring", "there is no leaderboard nowhere"),
    ("begin nowhere summer", "--mode"),
    ("rerate nowhere --reason odd", "there is no leaderboard nowhere"),
    ("schedule-at --name a -l nowhere --crontab @daily", "there is no leaderboard nowhere"),
    ("schedule-at --name a -l BOARD -n 12", "--crontab --once is required"),
    ("schedule-at --name a -l BOARD --crontab daily -n 12", "crontab: "),
    (
        "schedule-at --name a -l BOARD --once tomorrow -n 12",
        "'tomorrow' is no time such as 2027-01-01",
    ),
    ("schedule-at --name a -l BOARD --once 2027-01-01T04:00 -n 12", "is no time such as"),
    ("schedule-at --name a -l BOARD --once 2127-01-01T04:00:00Z", "n_matches: "),
    (
        "schedule-at --name a -l BOARD --once 2127-01-01T04:00:00Z -n 9 -q best --margin nan",
        "got nan",
    ),
    ("disable 77", "there is no schedule 77: `evalsite schedules` lists them"),
    ("unschedule 77", "there is no schedule 77"),
    ("stop 77", "there is no campaign 77"),
    ("acknowledge 77", "there is no alarm 77: `evalsite alarms` lists them"),
]


def test_what_is_refused_names_the_value_and_ends_with_2(evalsite: Evalsite) -> None:
    name = factories.planned().leaderboard.name
    for arguments, words in REFUSED:
        status, out, err = evalsite(*arguments.replace("BOARD", name).split())
        assert (status, out) == (2, ""), (arguments, err)
        assert words in err, (arguments, err)
        assert "Traceback" not in err
    assert not AuditRow.objects.exists()


def test_an_empty_reason_is_refused_by_name(evalsite: Evalsite, capsys: Any) -> None:
    agent = factories.planned().agents.earliest("pk")
    status, _, err = evalsite("quarantine", "agent", agent.pk, "--reason", " ")
    assert (status, err.startswith("evalsite: reason: ")) == (2, True)
