"""What the admin shows and nobody enters: labels without our prefixes, JSON as lines."""

from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.admin.plain_fields import label_fields, write_lines
from matches.models import Tournament, Worker
from matches.store.clock import db_now
from matches.tests import factories


def test_labels_are_words() -> None:
    labels = label_fields(Tournament)
    assert (labels["n_void"], labels["is_rated"], labels["finished_at"]) == (
        *("Void", "Rated", "Finished"),
    )
    assert "name" not in labels


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ({}, "none"),
        (None, "none"),
        ([], "none"),
        (["cpu", "torch"], "cpu, torch"),
        ({"cpu": 0.5, "is_spot": True, "zones": ["a", "b"]}, "cpu: 0.5\nis_spot: yes\nzones: a, b"),
    ],
)
def test_json_is_lines(value: Any, lines: str) -> None:
    assert write_lines(value) == lines


@pytest.mark.django_db
def test_a_worker_is_shown_without_json(admin_client: Client, broker: Redis) -> None:
    factories.alive(now=db_now())
    worker = Worker.objects.get()
    Worker.objects.update(labels={"zone": "<b>eu</b>"})
    page = admin_client.get(f"/admin/matches/worker/{worker.pk}/change/").content.decode()
    assert "zone: &lt;b&gt;eu&lt;/b&gt;" in page
    assert "What its operator says of the machine" in page
    assert "N forged" not in page
    assert page.count("Forged") == 1, [line for line in page.splitlines() if "orged" in line]


@pytest.mark.django_db
def test_a_tournament_is_shown_without_json(admin_client: Client, broker: Redis) -> None:
    tournament = factories.planned(pairing_parameters={})
    path = f"/admin/matches/tournament/{tournament.pk}/change/"
    page = admin_client.get(path).content.decode()
    section = page.partition("Parameters of the pairing")[2].partition("Rated")[0]
    assert "none" in section
    assert "{}" not in section
