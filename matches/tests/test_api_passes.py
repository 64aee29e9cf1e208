"""Passes to the evaluation head: made by who may, and good for nothing but what they name."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from arena.agent_passes import read_agent_pass
from arena.credentials import pass_key
from arena.passes import PassError, check_pass
from matches.models import Agent, Checkpoint
from matches.store.clock import db_now
from matches.tests import callers

pytestmark = pytest.mark.django_db
SHA = "a" * 64


@pytest.fixture
def agent() -> Agent:
    """Return an agent with a network that is placed on the gpu queue."""
    checkpoint = Checkpoint.objects.create(
        sha256=SHA,
        game="connect_four",
        architecture="gru",
        run="ppo",
        source_name="ppo.safetensors",
        n_bytes=1,
        state="ready",
        state_size=8,
        created_at=db_now(),
    )
    return Agent.objects.create(
        name="ppo",
        game="connect_four",
        policy="network",
        parameters={"temperature": 0.5},
        checkpoint=checkpoint,
        placement="gpu",
    )


@pytest.fixture
def client() -> Client:
    return callers.with_token(callers.token("admin", callers.OPERATOR, is_admin=True))


def _post(client: Client, address: str, body: object = None) -> Any:
    return client.post(f"/api/v1/{address}/", body or {}, content_type="application/json")


def test_a_pass_tells_the_head_all_that_it_needs(client: Client, agent: Agent) -> None:
    response = _post(client, f"agents/{agent.pk}/head_pass")
    assert response.status_code == 201, response.content
    key, token = pass_key(settings.SECRET_KEY), response.json()["token"]
    agent_pass = read_agent_pass(key, token, now=db_now().timestamp())
    assert (agent_pass.agent, agent_pass.name, agent_pass.game) == (agent.pk, "ppo", "connect_four")
    assert (agent_pass.observation_shape, agent_pass.n_actions) == ([3, 6, 7], 7)
    plays = agent_pass.plays
    assert (plays.checkpoint, plays.placement, plays.state_size) == (SHA, "gpu", 8)
    assert plays.parameters == {"temperature": 0.5}
    assert plays.source.startswith(f"/files/checkpoints/{SHA}?until=")
    with pytest.raises(PassError, match="ended"):
        read_agent_pass(key, token, now=db_now().timestamp() + 100_000)


def test_an_agent_in_quarantine_gets_none(client: Client, agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(quarantined_at=db_now(), quarantine_reason="loops")
    response = _post(client, f"agents/{agent.pk}/head_pass")
    assert (response.status_code, "loops" in response.content.decode()) == (409, True)


def test_a_server_gets_a_pass_of_its_name(client: Client) -> None:
    made = _post(client, "passes", {"purpose": "serve", "name": "sim-1", "days": 1}).json()
    key, now = pass_key(settings.SECRET_KEY), db_now().timestamp()
    check_pass(key, made["token"], "serve:sim-1", now=now)
    with pytest.raises(PassError):
        check_pass(key, made["token"], "serve:sim-1", now=now + 90_000)
    any_name = _post(client, "passes", {"purpose": "serve"}).json()
    check_pass(key, any_name["token"], "serve:", now=now)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"purpose": "fly"}, "purpose"),
        ({"purpose": "serve", "name": "a b"}, "name"),
        ({"purpose": "discover", "name": "sim-1"}, "name"),
        ({"purpose": "serve", "days": 1_000}, "days"),
    ],
)
def test_a_wrong_field_is_named(client: Client, body: dict[str, object], field: str) -> None:
    response = _post(client, "passes", body)
    assert (response.status_code, field in response.content.decode()) == (400, True)
