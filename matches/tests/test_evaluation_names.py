"""Evaluations are named by what they play."""

from typing import Any

import pytest
from redis import Redis

from matches.models import Tournament
from matches.tests import callers

pytestmark = pytest.mark.django_db
LEVELS = [f"level:{level}" for level in range(1, 61)]


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ({"agents": LEVELS[:2]}, "evaluate: level:1, level:2"),
        (
            {"agents": LEVELS},
            "evaluate: level:1, level:2, level:3, level:4, level:5, level:6, level:7 (+53)",
        ),
        ({"num_agents": 4}, "evaluate: 4 agents drawn"),
    ],
)
def test_an_evaluation_is_named_by_what_it_plays(
    broker: Redis, field: dict[str, Any], name: str
) -> None:
    client = callers.with_token(callers.token("names-submitter", callers.SUBMITTER))
    body = {"game": "skill_game", "n_matches": 120, "pairing": "random", **field}
    response = client.post("/api/v1/evaluations/", body, content_type="application/json")
    assert response.status_code == 201, response.content
    assert Tournament.objects.get(pk=response.json()["tournament"]).name == name
    assert len(name) <= 80
