"""No agent goes by the spelling of a policy that is not its own."""

from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from matches.artifacts import agents
from matches.artifacts.agents import register_agent, register_spelled_agent
from matches.errors import BadInputError
from matches.ledger.naming import find_agent
from matches.models import Agent
from matches.tests import weights
from matches.tests.plugin_folder import plugin_folder

pytestmark = pytest.mark.django_db
GAME = "connect_four"
REGISTERED: dict[str, Any] = {"game": GAME, "policy": "random", "parameters": {}}
TAKEN = "spells another policy"


@pytest.mark.parametrize("name", ["alphabeta:10", "greedy", "mcts:50,exploration=1.4"])
def test_the_spelling_of_another_policy_is_no_name(admin_client: Client, name: str) -> None:
    body = REGISTERED | {"name": name}
    answer = admin_client.post("/api/v1/agents/", body, content_type="application/json")
    assert answer.status_code == 400
    (problem,) = answer.json()["errors"]
    assert problem["field"] == "name"
    assert f"{name!r} {TAKEN}" in problem["message"]
    assert find_agent(name, game=GAME).policy == name.partition(":")[0]


def test_a_spelling_is_no_policy_and_told_apart(admin_client: Client) -> None:
    body = REGISTERED | {"name": "deep", "policy": "alphabeta:10"}
    answer = admin_client.post("/api/v1/agents/", body, content_type="application/json")
    (problem,) = answer.json()["errors"]
    assert (answer.status_code, problem["field"]) == (400, "policy")
    assert problem["message"] == "'alphabeta:10' is 'alphabeta' with parameters depth=10: name both"


def test_the_admin_refuses_it_too_also_when_an_agent_is_renamed(admin_client: Client) -> None:
    fields = {"name": "greedy", "game": GAME, "policy": "random"}
    page = admin_client.post("/admin/matches/agent/add/", fields)
    assert TAKEN in page.content.decode()
    agent = register_agent("mine", game=GAME, policy="random")
    page = admin_client.post(f"/admin/matches/agent/{agent.pk}/change/", {"name": "greedy"})
    assert TAKEN in page.content.decode()


def test_a_checkpoint_is_not_named_so_either(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=TAKEN):
        weights.added(tmp_path, "alphabeta:10")
    assert weights.added(tmp_path, "network").name == "network"


@pytest.mark.parametrize("parameters", [{"simulations": 50}, {"simulations": "50"}])
def test_an_agent_may_go_by_the_spelling_of_its_own_policy(parameters: dict[str, object]) -> None:
    """With or without what it leaves at its default."""
    agent = register_agent("mcts:50", game=GAME, policy="mcts", parameters=parameters)
    assert register_spelled_agent("mcts:50", game=GAME) == agent
    with pytest.raises(BadInputError, match=TAKEN):
        register_agent("mcts:60", game=GAME, policy="mcts", parameters=parameters)


def test_a_kind_whose_file_is_broken_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with plugin_folder(tmp_path / "plugins", monkeypatch) as folder:
        with pytest.raises(BadInputError, match=TAKEN):
            register_agent("centre", game=GAME, policy="random")
        agent = register_agent("centre", game=GAME, policy="centre")
        folder.edit(folder.policy, "class CentreKind", "class CentreKind(NoSuchName)")
        assert register_agent("another", game=GAME, policy="random")
        with pytest.raises(BadInputError, match="cannot be used"):
            register_agent("centre", game=GAME, policy="centre")
        assert Agent.objects.get(name="centre") == agent


@pytest.mark.parametrize("is_checked", [True, False])
def test_of_two_that_register_the_same_at_once_both_get_it(
    monkeypatch: pytest.MonkeyPatch, is_checked: bool
) -> None:
    save, begin = agents.save_agent, transaction.atomic

    def begin_after_another(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(transaction, "atomic", begin)
        save(Agent(name="twin", game="chess", policy="random"))
        return begin(*arguments, **options)

    monkeypatch.setattr(transaction, "atomic", begin_after_another)
    if not is_checked:
        # The other one comes after the checks, and before the row is written.
        monkeypatch.setattr(agents, "save_agent", lambda agent: agent.save())
    got = agents.register_agent("twin", game="chess", policy="random")
    assert Agent.objects.get() == got
