"""RUN@*: the agents of all checkpoints of a run, wherever agents are named."""

from pathlib import Path
from typing import Any

import pytest

from evalsite_client import Client
from evalsite_client.api.watches import Watches
from evalsite_client.cli import following, watching
from evalsite_client.tests.commands import Evalsite, ok
from evalsite_client.tests.test_winrates import add_step
from matches.api.watches import MAX_AGAINST
from matches.models import Agent, Campaign, Schedule, Tournament

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _run(evalsite: Evalsite) -> None:
    """Add a run of three checkpoints, one of which is retired, and another run."""
    ok(evalsite("open", "mine", "--game", "skill_game"))
    for step in (30, 4, 10):
        add_step(step)
    add_step(50, run="ppo2")
    Agent.objects.filter(name="ppo@10").update(is_retired=True)
    ok(evalsite("register", "other", "--game", "skill_game", "--policy", "random"))


def test_tournaments_and_schedules_enter_them_by_step(evalsite: Evalsite) -> None:
    ok(evalsite("schedule", "-l", "mine", "-n", 6, "other", "ppo@*", "--paused"))
    entered = Tournament.objects.get().agents.order_by("entrant__position")
    assert [agent.name for agent in entered] == ["other", "ppo@4", "ppo@30"]
    when = ("--once", "2030-01-01T04:00:00Z")
    ok(evalsite("schedule-at", "-l", "mine", "-n", 6, "--name", "a", *when, "ppo@*"))
    assert Schedule.objects.get().agents.count() == 2


def test_campaigns_ask_about_them(evalsite: Evalsite) -> None:
    ok(evalsite("campaign", "-l", "mine", "--agents", "ppo@*,other", "--no-wait"))
    assert Campaign.objects.get().tournament.agents.count() == 3


def test_evaluations_take_them(evalsite: Evalsite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following.wait_for_cluster, "__kwdefaults__", {"limit_s": 0.0})
    _, _, complaint = evalsite("evaluate", "--agents", "ppo@*")
    assert "waiting up to 0 s for a play node" in complaint, "all that was named is there"


def test_a_watch_lets_checkpoints_meet_them(
    evalsite: Evalsite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    looks = []
    look = Watches.look

    def note(watches: Watches, run: str, *, game: str = "", against: str = "") -> Any:
        looks.append(against)
        return look(watches, run, game=game, against=against)

    monkeypatch.setattr(Watches, "look", note)
    run = ("--agent", "new", "--against", "ppo@*,random", "--once")
    ok(evalsite("watch", tmp_path, *run, "--game", "skill_game"))
    assert looks[0] == "ppo@4,ppo@30,random"
    status, _, complaint = evalsite("watch", tmp_path, *run)
    assert (status, "game: is missing: 'ppo@*' are agents of one game" in complaint) == (2, True)


def test_a_watch_says_how_many_agents_a_checkpoint_may_meet(
    evalsite: Evalsite, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(following, "wait_for_cluster", lambda _: "a cluster")
    assert watching.MAX_AGAINST == MAX_AGAINST, "the client asks for no more than the server takes"
    run = "r" * 100
    for step in range(1_000, 1_000 + MAX_AGAINST):
        add_step(step, run=run)
    command = ("watch", tmp_path, "--agent", "new", "--game", "skill_game", "--once", "--against")
    ok(evalsite(*command, f"{run}@*"))
    status, _, complaint = evalsite(*command, f"{run}@*,random")
    assert status == 2
    assert "against: 101 agents, and a checkpoint meets 100 at most" in complaint


def test_the_client_has_them_too(evalsite: Evalsite) -> None:
    with Client() as client:
        agents = client.agents.of_run("ppo", game="skill_game")
    assert [agent.name for agent in agents] == ["ppo@4", "ppo@30"]


@pytest.mark.parametrize(
    "command",
    [
        ("schedule", "-l", "mine", "-n", "6", "pp@*"),
        ("schedule-at", "-l", "mine", "-n", "6", "--name", "a", "--crontab", "0 4 * * 1", "pp@*"),
        ("campaign", "-l", "mine", "pp@*", "--forecast"),
        ("evaluate", "--agents", "random,pp@*"),
        ("watch", ".", "--agent", "a", "--game", "skill_game", "--against", "pp@*"),
    ],
)
def test_a_run_without_agents_is_refused(evalsite: Evalsite, command: tuple[str, ...]) -> None:
    status, _, complaint = evalsite(*command)
    assert status == 2
    assert "'pp@*': no agent of skill_game is of a run 'pp'" in complaint
