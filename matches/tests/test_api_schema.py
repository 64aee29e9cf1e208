"""The schema of the API: complete, valid and without a guess."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator


@pytest.fixture(scope="module")
def schema() -> Any:
    """Return the schema as it is served."""
    generator: Any = SchemaGenerator  # it has no types
    return generator().get_schema(request=None, public=True)


def _operations(schema: Any) -> list[tuple[str, str, Any]]:
    return [
        (method, address, operation)
        for address, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_schema_is_valid_and_nothing_of_it_is_guessed(tmp_path: Path) -> None:
    options = {"validate": True, "fail_on_warn": True, "file": str(tmp_path / "schema.yml")}
    call_command("spectacular", **options)


def test_an_operation_without_words_of_its_own_says_its_verb_and_what_it_is_of(
    schema: Any,
) -> None:
    agents, one = schema["paths"]["/api/v1/agents/"], schema["paths"]["/api/v1/agents/{id}/"]
    assert agents["get"]["summary"] == "List the agents"
    assert agents["post"]["summary"].startswith("Register an agent")
    assert one["get"]["summary"] == "Show one agent"


def test_a_summary_is_a_whole_sentence_though_its_docstring_goes_over_lines(schema: Any) -> None:
    quarantine = schema["paths"]["/api/v1/agents/{id}/quarantine/"]["post"]
    words = "Send no more matches of an agent; those with nodes are played to their end"
    assert quarantine["summary"] == words
    seasons = schema["paths"]["/api/v1/leaderboards/{name}/begin/"]["post"]
    assert seasons["summary"].endswith("or all goes on to count")


def test_every_operation_says_what_it_does_and_answers(schema: Any) -> None:
    for method, address, operation in _operations(schema):
        statuses = set(operation["responses"])
        assert operation["description"], f"{method} {address}"
        assert len(operation["summary"]) > len("List"), f"{method} {address}"
        expected = {"400", "401", "403", "404", "429"}
        expected |= {"get": {"200", "304"}, "post": {"409", "413", "415", "422", "503"}}.get(
            method, set()
        )
        expected -= {"422"} if f"{method} {address}" in KEYED else set()
        assert expected <= statuses, f"{method} {address} lacks {expected - statuses}"


def test_every_error_is_a_problem(schema: Any) -> None:
    for method, address, operation in _operations(schema):
        for status, answer in operation["responses"].items():
            if status >= "400":
                body_schema = answer["content"]["application/problem+json"]["schema"]
                assert body_schema == {"$ref": "#/components/schemas/Problem"}, (
                    f"{method} {address}"
                )


# A machine shows a token of its node, or the node's key; a key of a call would be nobody's.
PROVED = [f"post /api/v1/nodes/{act}" for act in ("", "leave/", "look/")]
# What is sent has an id of its own.
KEYED = ["post /api/v1/experience/"]


def test_every_post_takes_an_idempotency_key_and_every_get_an_etag(schema: Any) -> None:
    headers = {"get": "If-None-Match", "post": "Idempotency-Key"}
    for method, address, operation in _operations(schema):
        if f"{method} {address}" in (*PROVED, *KEYED):
            continue
        taken = {p["name"] for p in operation["parameters"] if p["in"] == "header"}
        assert headers.get(method) is None or headers[method] in taken, f"{method} {address}"


def test_only_what_needs_no_login_says_so(schema: Any) -> None:
    open_to_all = [
        f"{method} {address}"
        for method, address, operation in _operations(schema)
        if {} in operation["security"]
    ]
    assert "get /api/v1/agents/" in open_to_all
    assert [e for e in open_to_all if not e.startswith("get")] == PROVED
    assert not [e for e in open_to_all if "token" in e or "traj" in e]
