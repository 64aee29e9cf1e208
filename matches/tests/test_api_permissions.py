"""The table of rights: each endpoint for each kind of caller, as it is answered."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.test import Client
from django.urls import resolve
from django.utils import timezone
from redis import Redis

from matches.access import tokens
from matches.api.permissions import TABLE
from matches.api.urls import router
from matches.models import ImportBatch, Scope, TokenAccess, TrajectoryPiece, Worker
from matches.tests import boards, callers, factories, operating

pytestmark = pytest.mark.django_db

CALLERS = ("anonymous", "reader", "submitter", "operator", "worker", "admin", "expired")
METHODS = {"get", "post", "put", "patch", "delete"}
SHA = "a" * 64

# What each caller is answered, in the order of CALLERS. 401: who are you; 403: not you; 400: the
# empty body is refused, so the caller came through.
ALL = "200 200 200 200 200 200 401"
OWN = "401 200 200 200 403 200 401"
SUBMITS = "401 403 400 400 403 400 401"
OPERATES = "401 403 403 200 403 200 401"
WATCHES = OPERATES
REASON = "401 403 403 400 403 400 401"
# Who shows a token of one node, or its key, needs no login.
PROVED = "400 400 400 400 400 400 401"
EXPECTED = {
    "get /": ALL,
    "get /agents/": ALL,
    "post /agents/": SUBMITS,
    "get /agents/{pk}/": ALL,
    "get /agents/{pk}/explanation/": ALL,
    "get /games/": ALL,
    "get /games/{game}/": ALL,
    "post /agents/{pk}/retire/": OPERATES,
    "post /agents/{pk}/unretire/": OPERATES,
    "post /agents/{pk}/quarantine/": REASON,
    "post /agents/{pk}/release/": OPERATES,
    # It is of a policy without a network.
    "post /agents/{pk}/head_pass/": "401 403 409 409 403 409 401",
    "post /passes/": REASON,
    "get /alarms/": ALL,
    "get /system/": ALL,
    "get /alarms/{pk}/": ALL,
    "post /alarms/{pk}/acknowledge/": OPERATES,
    "get /attempts/": ALL,
    "get /audit/": WATCHES,
    "get /campaigns/": ALL,
    "post /campaigns/": SUBMITS,
    "post /campaigns/forecast/": SUBMITS,
    "get /campaigns/{pk}/": ALL,
    "get /campaigns/{pk}/curve/": ALL,
    "get /campaigns/{pk}/explanation/": ALL,
    "get /checkpoints/": ALL,
    "post /checkpoints/": SUBMITS,
    "get /checkpoints/{sha256}/": "404 404 404 404 404 404 401",
    "get /checkpoints/{sha256}/link/": "401 403 403 403 404 404 401",
    "get /datasets/": OWN,
    "post /datasets/": REASON,
    "get /datasets/{name}/": OWN,
    "delete /datasets/{name}/": "401 403 403 204 403 404 401",
    "get /datasets/{name}/shards/": OWN,
    "get /datasets/{name}/manifest/": OWN,
    "post /experience/": SUBMITS,
    "get /imports/": ALL,
    "post /imports/": REASON,
    "get /imports/{pk}/": ALL,
    "post /imports/{pk}/strike/": REASON,
    "get /leaderboards/": ALL,
    "post /leaderboards/": SUBMITS,
    "post /gates/": SUBMITS,
    "post /generations/": SUBMITS,
    "post /generations/check/": SUBMITS,
    "get /gates/{pk}/": "404 404 404 404 404 404 401",
    "get /watches/look/": SUBMITS,
    "post /watches/": SUBMITS,
    "post /watches/{pk}/judge/": SUBMITS,
    "post /evaluations/": SUBMITS,
    "post /evaluations/check/": SUBMITS,
    "get /leaderboards/{name}/": ALL,
    "get /leaderboards/{name}/comparison/": ALL,
    "get /leaderboards/{name}/history/": ALL,
    "post /leaderboards/{name}/begin/": REASON,
    "post /leaderboards/{name}/freeze/": REASON,
    "post /leaderboards/{name}/place/": REASON,
    "post /leaderboards/{name}/rerate/": REASON,
    "get /leaderboards/{name}/results/": ALL,
    "get /leaderboards/{name}/seasons/": ALL,
    "get /leaderboards/{name}/ratings/": ALL,
    "get /leaderboards/{name}/ratings/{agent}/": ALL,
    "get /leaderboards/{name}/ratings/{agent}/history/": ALL,
    "get /matches/": ALL,
    "get /matches/{pk}/": ALL,
    "get /matches/{pk}/explanation/": ALL,
    "post /matches/void/": REASON,
    "post /matches/requeue/": REASON,
    "get /outcomes/": ALL,
    "get /schedules/": WATCHES,
    "post /nodes/": PROVED,
    "post /nodes/invite/": REASON,
    "post /nodes/leave/": PROVED,
    "post /nodes/look/": PROVED,
    "post /schedules/": REASON,
    "get /schedules/{pk}/": WATCHES,
    "delete /schedules/{pk}/": "401 403 403 204 403 404 401",
    "get /schedules/{pk}/explanation/": WATCHES,
    "post /schedules/{pk}/enable/": OPERATES,
    "post /schedules/{pk}/disable/": OPERATES,
    "get /seasons/{pk}/": ALL,
    "get /seasons/{pk}/rows/": ALL,
    "get /tokens/": OWN,
    "post /tokens/": "401 400 400 400 403 400 401",
    "delete /tokens/{pk}/": "401 404 404 404 403 204 401",
    "get /tournaments/": ALL,
    "post /tournaments/": SUBMITS,
    "get /tournaments/{pk}/": ALL,
    "get /tournaments/{pk}/agents/": ALL,
    "get /tournaments/{pk}/explanation/": ALL,
    "get /tournaments/{pk}/report/": ALL,
    "get /tournaments/{pk}/manifest/": OWN,
    # Its matches are open.
    "get /tournaments/{pk}/shards/{number}/": "401 409 409 409 403 409 401",
    "post /tournaments/{pk}/pause/": OPERATES,
    "post /tournaments/{pk}/start/": OPERATES,
    "post /tournaments/{pk}/resume/": OPERATES,
    "post /tournaments/{pk}/extend/": "401 403 403 400 403 400 401",
    "post /tournaments/{pk}/cancel/": OPERATES,
    "get /runs/": ALL,
    "post /runs/": REASON,
    "get /runs/{name}/": ALL,
    "post /runs/{name}/resume/": "401 403 403 409 403 409 401",  # it goes on
    "post /runs/{name}/stop/": OPERATES,
    "get /recommendations/": ALL,
    "get /models/": ALL,
    "get /models/{name}/": ALL,
    "get /models/{name}/versions/": ALL,
    "get /models/{name}/latest/": ALL,
    "get /models/{name}/best/": "404 404 404 404 404 404 401",
    "post /models/{name}/retire/": REASON,
    "post /models/{name}/release/": REASON,
    "get /trajectories/": OWN,
    "get /trajectories/manifest/": OWN,
    "get /workers/": ALL,
    "get /workers/{pk}/": ALL,
    "get /workers/{pk}/explanation/": ALL,
    "post /workers/{pk}/quarantine/": REASON,
    "post /workers/{pk}/release/": OPERATES,
}


def _routes() -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Yield method, address and place in the table of every endpoint there is."""
    yield "get", "/", ("api-root", "list")
    # Of a later app: what stands before our router.
    view = _resolve("experience").cls
    yield "post", "/experience/", (view.basename, view.action)
    views = {noun: _resolve(noun) for noun in ("datasets", "runs", "models")}
    later = [(noun, view.cls, view.initkwargs["basename"]) for noun, view in views.items()]
    for prefix, view, basename in [*router.registry, *later]:
        for route in router.get_routes(view):
            address = route.url.format(
                prefix=prefix,
                lookup="{" + getattr(view, "lookup_field", "pk") + "}",
                trailing_slash="/",
            )
            for method, name in router.get_method_map(view, route.mapping).items():
                yield method, f"/{address.strip('^$')}", (basename, name)


def _resolve(noun: str) -> Any:
    return resolve(f"/api/v1/{noun}/").func


def _plain(address: str) -> str:
    """Return an address with the names of its parts only."""
    return re.sub(r"\(\?P<(\w+)>[^/]*\)", r"{\1}", address)


def test_every_endpoint_stands_in_both_tables() -> None:
    routes = list(_routes())
    assert {key for _, _, key in routes} == set(TABLE)
    assert {f"{method} {_plain(address)}" for method, address, _ in routes} == set(EXPECTED)


@pytest.fixture
def clients(db: None) -> dict[str, Client]:
    """Return a client for each kind of caller."""
    scopes = {
        "reader": callers.READER,
        "submitter": callers.SUBMITTER,
        "operator": callers.OPERATOR,
        "worker": callers.WORKER,
    }
    made = {name: callers.with_token(callers.token(name, has)) for name, has in scopes.items()}
    admin = callers.token("admin", list(Scope), is_admin=True)
    return {
        **made,
        "anonymous": Client(),
        "admin": callers.with_token(admin),
        "expired": callers.with_token(callers.expired("former")),
    }


@pytest.fixture(scope="module", autouse=True)
def arranged(rows_of_module: None) -> dict[str, Any]:
    """Arrange one row of everything, once for all endpoints; return what the addresses name."""
    played = boards.played_board(n_matches=84)
    tournament = factories.planned(keeps_trajectories=True)
    TrajectoryPiece.objects.create(
        tournament=tournament,
        order=UUID(int=1),
        sha256=SHA,
        n_bytes=1,
        created_at=timezone.now(),
        expires_at=timezone.now() + timedelta(days=1),
    )
    first, second = played.agents.order_by("pk")[:2]
    _add_run(played.leaderboard.name)
    operated = operating.arranged(played)
    return {
        **operated,
        "agents": first.pk,
        "imports": ImportBatch.objects.create(
            leaderboard=played.leaderboard,
            tournament=played,
            file_name="games.csv",
            n_rows=0,
            created_at=timezone.now(),
        ).pk,
        "tournaments": tournament.pk,
        # A watch is judged by the campaign of a checkpoint.
        "watches": operated["campaigns"],
        "gates": operated["campaigns"],
        "matches": tournament.matches.earliest("pk").pk,
        "workers": Worker.objects.get().pk,
        "name": played.leaderboard.name,
        "game": played.leaderboard.game,
        "agent": first.pk,
        "second": second.pk,
        "sha256": SHA,
        "number": 0,
    }


def _add_run(name: str) -> None:
    """Add a run with a version and a dataset, of the app `experience`, which we cannot import."""
    models, now = apps.get_app_config("experience"), timezone.now()
    terms = {"seed": 0, "max_steps": 1, "slice_s": 1, "margin": 1, "release_s": 1}
    run = models.get_model("TrainingRun")._default_manager.create(
        **{"name": name, "game": "cart_pole", "algorithm": "appo", "version": 0, **terms},
        **{"release_steps": 1, "budget": 2, "created_at": now},
    )
    models.get_model("Release")._default_manager.create(
        run=run, version=0, sha256=SHA, n_bytes=1, n_steps=0, created_at=now
    )
    models.get_model("Dataset")._default_manager.create(
        **{"name": name, "game": "cart_pole", "source": "experience", "state": "ready"},
        **{"shard_steps": 1, "created_at": now},
    )


@pytest.fixture
def parts(arranged: dict[str, Any], broker: Redis) -> dict[str, Any]:
    """Return what the addresses name, for one test."""
    return dict(arranged)


QUERIES = {
    "/matches/": "?tournament={tournaments}",
    "/outcomes/": "?tournament={tournaments}",
    "/trajectories/": "?tournament={tournaments}",
    "/trajectories/manifest/": "?tournament={tournaments}",
    "/tournaments/{pk}/manifest/": "?matches_per_shard=4",
    "/tournaments/{pk}/shards/{number}/": "?matches_per_shard=4",
    "/leaderboards/{name}/comparison/": "?first={agent}&second={second}",
    "/recommendations/": "?game={game}&agent={agent}",
}


def _address(address: str, parts: dict[str, Any]) -> str:
    noun = address.split("/")[1]
    text = f"/api/v1{address}{QUERIES.get(address, '')}"
    # Never a guess: keys of rows depend on the tests before.
    return text.format(**parts, **({"pk": parts[noun]} if "{pk}" in address else {}))


@pytest.mark.parametrize("endpoint", EXPECTED)
def test_each_caller_is_answered_as_the_table_says(
    endpoint: str, clients: dict[str, Client], parts: dict[str, Any]
) -> None:
    method, _, address = endpoint.partition(" ")
    if address == "/tokens/{pk}/":
        parts["tokens"] = TokenAccess.objects.get(name="former").pk
    body = {"content_type": "application/json", "data": "{}"} if method == "post" else {}
    if endpoint in ("post /checkpoints/", "post /imports/"):
        body = {}
    answered = {
        name: getattr(clients[name], method)(_address(address, parts), **body).status_code
        for name in CALLERS
    }
    assert answered == dict(zip(CALLERS, map(int, EXPECTED[endpoint].split()), strict=True))


def test_nothing_is_read_without_a_login_where_that_is_closed(
    clients: dict[str, Client], parts: dict[str, Any], settings: Any
) -> None:
    settings.EVALSITE_PUBLIC_READ = False
    for endpoint in EXPECTED:
        method, _, address = endpoint.partition(" ")
        if method == "get":
            address = _address(address, parts)
            assert clients["anonymous"].get(address).status_code == 401, endpoint
            assert clients["worker"].get(address).status_code in (403, 404), endpoint
            assert clients["admin"].get(address).status_code in (200, 400, 404, 409), endpoint


def test_other_methods_are_not_there(clients: dict[str, Client]) -> None:
    nouns = {endpoint.split("/")[1] for endpoint in EXPECTED}
    named = dict.fromkeys(nouns | {"name", "sha256", "agent", "second", "number", "game"}, 1)
    for address in {endpoint.partition(" ")[2] for endpoint in EXPECTED}:
        for method in sorted(METHODS | {"options"}):
            if f"{method} {address}" not in EXPECTED:
                path = _address(address, {**named, "sha256": SHA})
                response = getattr(clients["admin"], method)(path)
                assert response.status_code == 405, f"{method} {address}"
                assert response.headers["Content-Type"] == "application/problem+json"


def test_a_scope_without_the_right_of_its_user_is_not_enough(db: None) -> None:
    user = callers.user("nobody")
    secret = tokens.issue_token(user, name="x", scopes=list(Scope), days=1)[1]
    response = callers.with_token(secret).post("/api/v1/agents/", {}, "application/json")
    assert response.status_code == 403
    assert response.json()["detail"] == "nobody lacks the right 'matches.add_agent'"


def test_the_answer_names_the_scope_that_is_missing(clients: dict[str, Client]) -> None:
    response = clients["reader"].post("/api/v1/agents/", {}, "application/json")
    detail = response.json()["detail"]
    assert detail.startswith("the token lacks the scope 'submit': ")
    assert "`evalsite token NAME --user YOU -s read -s submit`" in detail


def test_a_token_that_has_lost_its_scopes_opens_nothing(
    db: None, clients: dict[str, Client]
) -> None:
    TokenAccess.objects.get(name="admin").delete()
    assert clients["admin"].get("/api/v1/agents/").status_code == 401


def test_the_token_of_a_user_who_has_left_is_refused(clients: dict[str, Client]) -> None:
    access = TokenAccess.objects.select_related("token__user").get(name="reader")
    user = access.token.user
    user.is_active = False
    user.save()
    assert clients["reader"].get("/api/v1/agents/").status_code == 401


@pytest.mark.parametrize(
    "header", ["Token", "Token a b", "Token \xff\xfe", "Token x", f"Token {'0' * 64}"]
)
def test_what_is_no_token_is_refused(db: None, header: str) -> None:
    client = Client(headers={"authorization": header})
    response = client.get("/api/v1/agents/")
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Token"


@pytest.mark.parametrize("token", ["x", "0" * 63, "A" * 64, "\xff" * 64])
def test_what_cannot_be_a_token_is_refused_without_the_database(
    django_assert_num_queries: Any, token: str
) -> None:
    client = Client(headers={"authorization": f"Token {token}"})
    with django_assert_num_queries(0):
        assert client.get("/api/v1/agents/").status_code == 401


def test_a_session_needs_the_token_of_its_form(db: None) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(callers.user("admin", is_admin=True))
    response = client.post("/api/v1/agents/", {}, "application/json")
    assert response.status_code == 403
    assert "CSRF" in response.json()["detail"]
