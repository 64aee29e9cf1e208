"""schemathesis calls every operation of the schema: no server error, nothing undocumented.

Once as the schema has it, which finds few rows, and once with addresses and bodies that exist.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import hypothesis
import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase
from redis import Redis
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from arena.experience.tests.made import chunk_of
from arena.experience.wire import write_chunk
from experience.models import Release
from experience.tests.made import ended, listed_dataset, listed_segment, published
from matches.access import tokens
from matches.campaigns import gates, watching
from matches.models import Scope, TokenAccess, TrajectoryPiece, Worker
from matches.nodes import joining
from matches.ratings import snapshots
from matches.store.auditing import COMMAND_LINE
from matches.store.clock import db_now
from matches.tests import boards, callers, factories, operating
from matches.tests.imported import imported_batch
from matches.tests.weights import added, verdict, weights

pytestmark = pytest.mark.django_db

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    ignored_auth,
]
N_EXAMPLES = 3
"""Found at random; what the schema itself suggests comes on top."""


SEARCH = hypothesis.settings(
    max_examples=N_EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def _schema() -> Any:
    generator: Any = SchemaGenerator  # it has no types
    raw = generator().get_schema(request=None, public=True)
    schema = schemathesis.openapi.from_dict(raw, config=SchemathesisConfig())
    schema.app = get_wsgi_application()
    return schema


schema = _schema()


@pytest.fixture(autouse=True)
def _no_limits(settings: Any) -> None:
    """Take as many requests and wrong passwords as come."""
    settings.EVALSITE_USER_RATE = settings.EVALSITE_ANONYMOUS_RATE = 0
    settings.AXES_ENABLED = False
    settings.EVALSITE_UNENFORCED = []  # else no machine is invited


@pytest.fixture(autouse=True)
def _keep_the_connection() -> Iterator[None]:
    """Let a request leave the connection open, as the client of Django's tests does."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def one_row_of_everything(
    rows_of_module: None, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Arrange them once, which takes longer than most calls; return what addresses name."""
    tmp_path = tmp_path_factory.mktemp("files")
    played = boards.played_board(n_matches=84)
    snapshots.take_due(now=factories.later(1))
    tournament = factories.planned(keeps_trajectories=True)
    TrajectoryPiece.objects.create(
        tournament=tournament,
        order=UUID(int=1),
        sha256="a" * 64,
        n_bytes=1,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    first, second = played.agents.order_by("pk")[:2]
    pair = {"candidate": first.name, "baseline": second.name, "game": first.game}
    bounds = gates.Bounds(0.0, 20.0, 0.05, 0.05, "logistic")
    trained = added(tmp_path)
    verdict(trained.checkpoint)
    dataset = listed_dataset(played.leaderboard.name)
    learned = ended(3, played.leaderboard.name, algorithm="bc", dataset=dataset)
    published(learned, 0, Release.State.HELD)
    arranged = operating.arranged(played)
    judged = {"agent": first, "campaign_id": arranged["campaigns"]}
    published(learned, 1, Release.State.RELEASED, **judged)
    listed_segment()
    watch = watching.Watch("run", game=trained.game, against=("random",))
    return {
        **arranged,
        "imports": imported_batch().pk,
        "agents": first.pk,
        "agent": first.pk,
        "first": first.pk,
        "second": second.pk,
        "name": played.leaderboard.name,
        "game": played.leaderboard.game,
        "leaderboard": played.leaderboard.name,
        "tournaments": tournament.pk,
        "tournament": tournament.pk,
        "number": 0,
        "shard_size": 4,
        "played": played.pk,
        "matches": played.matches.earliest("pk").pk,
        "void": operating.voided(tournament),
        "workers": Worker.objects.get().pk,
        "sha256": trained.checkpoint_id,
        "run": "run",
        "trained": trained.pk,
        "pair": pair,
        "join_token": joining.grant_join_token(
            "far-1", minutes=60, actor=COMMAND_LINE, now=db_now()
        ).token,
        "node_key": factories.key_of("far-3"),
        "gates": gates.enter_test(first, second, bounds, leaderboard="", max_matches=400).pk,
        "watches": watching.start_evaluation(watch, trained).pk,
        "weights": weights(tmp_path / "given" / "new.safetensors", seed=1).read_bytes(),
    }


@pytest.fixture
def examples(
    one_row_of_everything: dict[str, Any], db: None, broker: Redis, valkey_url: str, settings: Any
) -> dict[str, Any]:
    """Return what the addresses and queries name."""
    settings.STREAM_REDIS_URL = valkey_url
    # By the clock of the server: a run is started only where somebody can play it.
    Worker.objects.update(last_seen_at=db_now())
    return one_row_of_everything


@pytest.fixture
def admin(db: None) -> str:
    """Return the token of an administrator."""
    return callers.token("admin", list(Scope), is_admin=True)


@schema.parametrize()  # type: ignore[untyped-decorator]
@SEARCH
def test_whatever_is_called_is_answered_as_documented(
    case: Any, examples: dict[str, Any], admin: str
) -> None:
    _call(case, admin)


OPERATIONS = [result.ok() for result in schema.get_all_operations()]
QUERIES = {
    "matches_list": {"tournament": "tournament"},
    "outcomes_list": {"tournament": "played"},
    "tournaments_manifest_retrieve": {"matches_per_shard": "shard_size"},
    "tournaments_shards_retrieve": {"matches_per_shard": "shard_size"},
    "trajectories_list": {"tournament": "tournament"},
    "trajectories_manifest_retrieve": {"tournament": "tournament"},
    "recommendations_retrieve": {"game": "game", "agent": "first"},
    "leaderboards_comparison_retrieve": {"first": "first", "second": "second"},
    "watches_look_retrieve": {"run": "run"},
}
BODIES: dict[str, dict[str, Any]] = {
    "agents_create": {"name": "a", "game": "connect_four", "policy": "random"},
    "leaderboards_create": {"name": "new", "game": "connect_four"},
    "tournaments_create": {"name": "cup", "leaderboard": "connect-four", "n_matches": 4},
    "tournaments_extend_create": {"n_matches": 1_000},
    "evaluations_create": {"game": "skill_game", "num_agents": 2, "n_matches": 4},
    "evaluations_check_create": {"game": "skill_game", "num_agents": 2, "n_matches": 4},
    "generations_create": {
        "agent_a": "level:3",
        "game": "skill_game",
        "matches": 4,
        "run_key": "a" * 32,
    },
    "generations_check_create": {"agent_a": "level:3", "game": "skill_game", "matches": 4},
    "gates_create": {"max_matches": 400},
    "watches_create": {"against": ["random"]},
    "campaigns_create": {"leaderboard": "connect-four", "max_matches": 4},
    "campaigns_forecast_create": {"leaderboard": "connect-four", "margin_elo": 20},
    "tokens_create": {"name": "laptop", "scopes": ["read"]},
    "passes_create": {"purpose": "discover"},
    "nodes_create": {},
    "nodes_invite_create": {"name": "far-2"},
    "nodes_look_create": {"name": "far-3"},
    "nodes_leave_create": {"name": "far-3"},
    "schedules_create": {
        "name": "weekly",
        "leaderboard": "connect-four",
        "crontab": "30 4 * * 1",
        "n_matches": 4,
    },
    "leaderboards_freeze_create": {"name": "autumn"},
    "leaderboards_begin_create": {"name": "winter", "mode": "carry"},
    "leaderboards_place_create": {"is_pinned": True, "reason": "asked for most"},
    "leaderboards_rerate_create": {"reason": "to be sure"},
    "agents_quarantine_create": {"reason": "it stalls"},
    "workers_quarantine_create": {"reason": "it overheats"},
    "matches_void_create": {"reason": "a stuck clock"},
    "matches_requeue_create": {"reason": "once more"},
    "imports_create": {"leaderboard": "connect-four", "form": "csv", "adds_agents": True},
    "imports_strike_create": {"reason": "the wrong file"},
    "checkpoints_create": {"name": "new", "game": "connect_four", "architecture": "mlp"},
    "datasets_create": {"name": "new", "game": "cart_pole"},
    "runs_create": {"name": "poles", "game": "cart_pole"},
    "models_retire_create": {"version": 1, "reason": "it loses to all"},
    "models_release_create": {"version": 0, "reason": "looked at"},
    "experience_create": json.loads(write_chunk(chunk_of(), form="json")),
}
ANSWERED = {"post": 200, "get": 200, "delete": 204}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: str(operation.label))
def test_what_exists_is_answered_as_documented(
    operation: Any, examples: dict[str, Any], admin: str
) -> None:
    case = _real(operation, examples)
    response = _call(case, admin)
    name = str(operation.definition.raw["operationId"])
    status = 201 if name in CREATING else 202 if name in ACCEPTED else ANSWERED[operation.method]
    if name in CONFLICTING:
        assert response.status_code == 409
        return
    assert response.status_code == status, response.text
    if operation.method == "get":
        _is_not_sent_again(case, admin, response)


ACCEPTED = {"experience_create"}
CREATING = {name for name in BODIES if name.count("_") == 1} - ACCEPTED | {
    "leaderboards_freeze_create",
    "leaderboards_begin_create",
}
CONFLICTING = {"tournaments_shards_retrieve", "agents_head_pass_create"}
"""Its matches are open; and it is no network that could be asked."""
CHANGING = {"explanation", "report"}
"""The last part of addresses whose answer tells how long something has taken so far."""


def _is_not_sent_again(case: Any, token: str, response: Any) -> None:
    if case.operation.path.strip("/").rpartition("/")[2] not in CHANGING:
        case.headers["If-None-Match"] = response.headers["etag"][0]
        assert _call(case, token).status_code == 304


def _real(operation: Any, examples: dict[str, Any]) -> Any:
    """Return a call of what exists."""
    name = str(operation.definition.raw["operationId"])
    there = {**examples, "id": _own_row(name.partition("_")[0], examples)}
    case = operation.Case(
        path_parameters={
            parameter.name: there[parameter.name] for parameter in operation.path_parameters
        },
        query={
            parameter_name: examples[row] for parameter_name, row in QUERIES.get(name, {}).items()
        },
    )
    if name in BODIES:
        case.body = dict(BODIES[name])
        case.media_type = "application/json"
    if name in ("matches_void_create", "matches_requeue_create"):
        case.body["matches"] = [examples["void" if "requeue" in name else "matches"]]
    if name == "tournaments_create":
        case.body["agents"] = [examples["first"], examples["second"]]
    if name == "nodes_create":
        case.body["token"] = examples["join_token"]
    if name in ("nodes_look_create", "nodes_leave_create"):
        case.body["node_key"] = examples["node_key"]
    if name == "gates_create":
        case.body |= examples["pair"]
    if name == "watches_create":
        case.body["agent"] = examples["trained"]
    if name in ("checkpoints_create", "imports_create"):
        is_import = name == "imports_create"
        case.body["file"] = (
            b"first,second,result\nada,bob,1-0\n" if is_import else examples["weights"]
        )
        case.media_type = "multipart/form-data"
    return case


def _own_row(noun: str, examples: dict[str, Any]) -> Any:
    """Return the id of a row of a noun; a token of its own, because it is revoked."""
    if noun != "tokens":
        return examples.get(noun)
    user = TokenAccess.objects.select_related("token__user").get(name="admin").token.user
    return tokens.issue_token(user, name="other", scopes=[Scope.READ], days=1)[0].pk


def _call(case: Any, token: str) -> Any:
    headers = {"Authorization": f"Token {token}"}
    return case.call_and_validate(headers=headers, checks=CHECKS)
