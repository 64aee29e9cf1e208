"""The pages of the system: complete without JavaScript, the same queries whatever was played."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from redis import Redis

from matches.models import Worker
from matches.operations.system import pushing
from matches.store import fast_store
from matches.store.clock import db_now
from matches.tests import factories

pytestmark = pytest.mark.django_db


def test_it_shows_what_control_saw_without_looking_itself(
    client: Client, broker: Redis, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    factories.alive(now=db_now())
    pushing.push_sample(now=db_now())
    with django_assert_max_num_queries(1):  # the time of the database
        page = client.get("/system/").content.decode()
    assert ">node-1</a>" in page
    assert 'data-label="In hand"' in page
    assert "hidden></p>" in page.replace("\n", "").replace(" ", "")


def test_without_the_fast_store_it_is_made_from_the_database(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.alive(now=db_now())
    nobody = Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr(fast_store, "get_client", lambda: nobody)
    page = client.get("/system/").content.decode()
    assert ">node-1</a>" in page
    assert "the fast store does not answer" in page


def test_a_node_says_what_it_waits_for_and_has_in_hand(client: Client, broker: Redis) -> None:
    order = factories.ordered(factories.planned(4), now=db_now())
    factories.alive(now=db_now())
    factories.start(order, now=db_now())
    page = client.get(f"/system/nodes/{Worker.objects.get().pk}/").content.decode()
    assert "Plays order" in page
    assert "<dt>evalsite</dt>" in page
    assert client.get("/system/nodes/999/").status_code == 404
