"""Paused tournaments are under way, too; the banner that nothing plays leads to what mends it."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from redis import Redis

from matches.models import Tournament, Worker
from matches.operations.system import pushing
from matches.operations.system.display import format_state
from matches.store.clock import db_now
from matches.tests import factories

pytestmark = pytest.mark.django_db
ADDRESSES = ("/", "/system/")


@pytest.fixture
def node(broker: Redis) -> Worker:
    """Return the only play node, in quarantine, while a tournament waits."""
    factories.planned(12, board="waiting")
    factories.alive(node="node-mended", now=db_now())
    Worker.objects.update(quarantined_at=db_now(), quarantine_reason="Its results differ.")
    pushing.push_sample(now=db_now())
    return Worker.objects.get()


def _get(client: Client, address: str) -> str:
    return client.get(address).content.decode()


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_banner_links_to_the_act_that_mends_it(
    client: Client, node: Worker, address: str
) -> None:
    page = _get(client, address)
    assert "node-mended (Its results differ.), is in quarantine" in page
    assert "no play node is alive" not in page
    assert f'href="/system/nodes/{node.pk}/">Why node-mended is in quarantine' in page
    assert "/ask/release/" not in page, "a visitor may not"
    user = User.objects.create_user("mender", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_worker"))
    client.force_login(user)
    act = f"/admin/matches/worker/ask/release/?pk={node.pk}&amp;from=row"
    assert f'href="{act}">Release node-mended' in _get(client, address)
    assert client.get(act.replace("&amp;", "&")).status_code == 200


def test_a_game_server_in_quarantine_is_named_too(client: Client, broker: Redis) -> None:
    factories.serve("sim-1", now=db_now())
    Worker.objects.update(quarantined_at=db_now(), quarantine_reason="It flips returns.")
    pushing.push_sample(now=db_now())
    assert "Why sim-1 is in quarantine" in _get(client, "/system/")


def test_there_is_nothing_to_mend_while_a_node_can_play(client: Client, broker: Redis) -> None:
    factories.alive(now=db_now())
    pushing.push_sample(now=db_now())
    for address in ADDRESSES:
        assert 'class="mend"' not in _get(client, address)


def test_paused_tournaments_are_in_the_tables_of_what_is_under_way(
    client: Client, broker: Redis
) -> None:
    paused = factories.planned(12, board="resting")
    Tournament.objects.filter(pk=paused.pk).update(
        state=Tournament.State.PAUSED, name="the paused cup"
    )
    pushing.push_sample(now=db_now())
    state: Any = format_state(pushing.read_newest(now=db_now()))
    table = next(table for table in state["tables"] if table["name"] == "tournaments")
    (row,) = table["rows"]
    assert row["cells"][0] == "the paused cup"
    assert row["cells"][-1] == "waits for somebody to resume it"
    assert row["tone"] == "", "nothing is wrong with it"
    assert "wait" not in state["standstill"].partition(":")[2], "it waits for no node"
    for address in ADDRESSES:
        assert "the paused cup" in _get(client, address)
