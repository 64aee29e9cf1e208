"""Bodies that cannot be read are refused with what to send instead, never taken for empty ones."""

import gzip
import json
from typing import Any

import pytest
from django.test import Client

from matches.ledger.tournaments import cancel_tournament
from matches.models import Agent, Scope
from matches.tests import callers, factories

pytestmark = pytest.mark.django_db

AGENTS = "/api/v1/agents/"
BODY = json.dumps({"name": "a", "game": "chess", "policy": "random"})


def _detail(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.content
    assert not Agent.objects.exists()
    return str(answer.json()["detail"])


def test_a_body_in_chunks_is_not_taken_for_an_empty_one(admin_client: Client) -> None:
    sent: Any = {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": ""}
    answer = admin_client.post(AGENTS, BODY, "application/json", **sent)
    assert "send it whole, with its Content-Length" in _detail(answer, 411)


def test_a_packed_body_is_called_so(admin_client: Client) -> None:
    packed = gzip.compress(BODY.encode())
    answer = admin_client.post(
        AGENTS, packed, "application/json", headers={"content-encoding": "gzip"}
    )
    assert _detail(answer, 415).startswith("Content-Encoding is 'gzip': send the body as it is")


@pytest.mark.parametrize("sent", ["text/plain", "application/x-www-form-urlencoded"])
def test_another_media_type_is_told_which_is_taken(admin_client: Client, sent: str) -> None:
    answer = admin_client.post(AGENTS, BODY, sent)
    assert _detail(answer, 415) == f"Content-Type is '{sent}': send application/json"


def test_a_body_that_is_too_large_is_told_the_limit(admin_client: Client) -> None:
    answer = admin_client.post(AGENTS, f'"{"x" * 3_000_000}"', "application/json")
    assert _detail(answer, 413) == "the body has more than 2,621,440 bytes: send less at once"


@pytest.mark.parametrize(
    ("sent", "kind"),
    [("{", "application/json"), ("why=late", "text/plain"), ("x" * 3_000_000, "application/json")],
    ids=["broken", "plain", "large"],
)
def test_what_is_refused_for_its_state_is_so_whatever_body_it_did_not_need(
    sent: str, kind: str
) -> None:
    tournament = factories.planned(4)
    cancel_tournament(tournament, now=factories.NOW)
    client = callers.with_token(callers.token("anna", list(Scope)))
    answer = client.post(f"/api/v1/tournaments/{tournament.pk}/pause/", sent, kind)
    assert (answer.status_code, answer.json()["title"]) == (409, "Conflict")
