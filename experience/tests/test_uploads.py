"""POST /api/v1/experience/: what is taken, what is refused and how that is said."""

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from arena.experience.chunks import Chunk
from arena.experience.tests.made import SPEC, assert_same, chunk_of, with_value
from arena.experience.wire import Form, read_chunk, write_chunk
from experience.ingest import backpressure
from experience.models import TrainingRun
from experience.stream import GroupLoad
from experience.tests import made
from matches.access import tokens
from matches.models import Scope, TokenAccess
from matches.tests import callers

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/experience/"
KEY = "xp:{cart_pole}"


@pytest.fixture
def client(stream_server: Redis) -> Client:
    made.ended(version=3)
    return callers.with_token(callers.token("ann", callers.SUBMITTER))


def _send(client: Client, chunk: Chunk, form: Form = "msgpack", **headers: str) -> Any:
    return _send_bytes(client, write_chunk(chunk, form=form), form, **headers)


def _send_bytes(client: Client, content: bytes, form: Form = "msgpack", **headers: str) -> Any:
    return client.post(ADDRESS, content, f"application/{form}", headers=headers)


def test_a_chunk_is_accepted_and_on_the_stream(client: Client, stream_server: Redis) -> None:
    answer = _send(client, chunk_of())
    assert (answer.status_code, answer.json()) == (
        202,
        {"accepted": 25, "duplicate": False, "latest_policy_version": -1, "keep_fraction": 1.0},
    )
    entries: Any = stream_server.xrange(KEY)
    assert_same(read_chunk(entries[0][1][b"chunk"], spec=SPEC), chunk_of())


def test_json_and_gzip_are_the_same_chunk(client: Client, stream_server: Redis) -> None:
    packed = gzip.compress(write_chunk(chunk_of(seed=2), form="json"))
    headers = {"content-encoding": "gzip"}
    answer = client.post(ADDRESS, packed, "application/json", headers=headers)
    assert answer.status_code == 202
    entries: Any = stream_server.xrange(KEY)
    assert entries[0][1][b"chunk"] == write_chunk(chunk_of(seed=2))


def test_a_chunk_that_comes_again_is_a_duplicate(client: Client, stream_server: Redis) -> None:
    _send(client, chunk_of())
    answer = _send(client, chunk_of())
    assert answer.status_code == 200
    assert (answer.json()["duplicate"], answer.json()["accepted"]) == (True, 0)
    assert stream_server.xlen(KEY) == 1


def test_the_id_of_another_users_chunk_is_refused(client: Client) -> None:
    other = callers.with_token(callers.token("bob", callers.SUBMITTER))
    _send(other, chunk_of())
    answer = _send(client, chunk_of())
    assert answer.status_code == 409
    assert answer.json()["detail"].endswith("is another user's: draw a new chunk_id")


def test_a_value_that_cannot_be_is_refused_with_its_place(client: Client) -> None:
    answer = _send(client, with_value(chunk_of(), "rewards", 7, float("nan")))
    assert answer.status_code == 400
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["errors"] == [
        {"field": "rewards.7", "message": "is nan: must be -1000000 to 1000000"}
    ]


def test_what_is_refused_is_told_to_who_is_logged_in_to_the_site_too(client: Client) -> None:
    client.force_login(callers.user("bob"))
    assert _send_bytes(client, b"[", "json").status_code == 400


@pytest.mark.parametrize(
    ("content", "form", "field", "reason"),
    [
        (b"[" * 1_000_000, "json", "body", "it is no chunk"),
        (b'{"game":"cart_pole","x":' + b"[" * 900_000, "json", "body", "recursion"),
        (b"{}", "json", "body", "missing required field `game`"),
        (b'{"game":"go_fish"}', "json", "game", "unknown game 'go_fish'"),
        (b'{"game":"chess"}', "json", "body", "missing required field `v`"),
        (b"\x80\x04.", "msgpack", "body", "it is no chunk"),
    ],
    ids=range(6),
)
def test_what_is_no_chunk_is_refused(
    client: Client, content: bytes, form: Form, field: str, reason: str
) -> None:
    answer = _send_bytes(client, content, form)
    assert answer.status_code == 400
    [refusal] = answer.json()["errors"]
    assert refusal["field"] == field
    assert reason in refusal["message"]


def test_a_game_of_several_seats_is_refused(client: Client) -> None:
    message = json.loads(write_chunk(chunk_of(), form="json"))
    answer = _send_bytes(client, json.dumps(message | {"game": "chess"}).encode(), "json")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "game"


@pytest.mark.parametrize(
    ("content", "kind", "encoding", "status", "detail"),
    [
        (b"x" * (2**20 + 1), "application/msgpack", "", 413, "at most 1048576 are taken"),
        (gzip.compress(bytes(2**23 + 1)), "application/json", "gzip", 413, "inflates to more"),
        (gzip.compress(b"{}")[:-1], "application/json", "gzip", 400, "not one whole file"),
        (gzip.compress(b"{}") + b"x", "application/json", "gzip", 400, "not one whole file"),
        (b"{}", "application/json", "gzip", 400, "the body is no gzip"),
        (b"{}", "application/json", "br", 415, "send gzip, or none"),
        (b"{}", "text/plain", "", 415, "send application/msgpack or application/json"),
    ],
    ids=range(7),
)
def test_bodies_are_short_and_of_types_that_are_read(
    client: Client, content: bytes, kind: str, encoding: str, status: int, detail: str
) -> None:
    headers = {"content-encoding": encoding} if encoding else {}
    answer = client.post(ADDRESS, content, kind, headers=headers)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert detail in answer.json()["detail"]


def test_a_quota_of_steps_is_told_with_its_end(client: Client, settings: Any) -> None:
    settings.EVALSITE_EXPERIENCE_QUOTA = 40
    assert _send(client, chunk_of()).status_code == 202
    answer = _send(client, chunk_of(seed=1))
    assert answer.status_code == 429
    assert answer.json()["detail"].startswith("25 of 40 steps are sent this hour: 25 more")
    assert 0 < int(answer.headers["Retry-After"]) <= 3_600


def test_calls_are_not_counted(client: Client, settings: Any) -> None:
    settings.EVALSITE_USER_RATE = 1
    assert {_send(client, chunk_of(seed=seed)).status_code for seed in range(3)} == {202}


def test_nothing_is_taken_while_the_sink_is_too_far_behind_and_again_when_it_is_not(
    client: Client, stream_server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backpressure, "MOST_WAITING_SINK", 3)
    monkeypatch.setattr(backpressure, "KEPT_S", 0)
    stream_server.xgroup_create(KEY, "sink", id="0", mkstream=True)
    fractions = [_send(client, chunk_of(seed=seed)).json()["keep_fraction"] for seed in range(3)]
    assert fractions == [1.0, 0.889, 0.444]
    answer = _send(client, chunk_of(seed=3))
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "1"
    assert answer.json()["detail"].startswith("3 chunks wait for the group 'sink', at most 3 may")
    # Read is not enough, acknowledged is; the stream stays as long as it was.
    entries: Any = stream_server.xreadgroup("sink", "one", {KEY: ">"})
    assert _send(client, chunk_of(seed=3)).status_code == 503
    stream_server.xack(KEY, "sink", *[key for key, _ in entries[0][1]])
    assert stream_server.xlen(KEY) == 3
    assert _send(client, chunk_of(seed=3)).status_code == 202


@pytest.mark.parametrize(
    ("waiting", "fraction"),
    [(0, 1.0), (2_500, 1.0), (5_000, 0.667), (9_000, 0.133), (9_999, 0.05), (20_000, 0.05)],
)
def test_the_slowest_group_says_how_much_to_send(waiting: int, fraction: float) -> None:
    loads = [GroupLoad("sink", waiting), GroupLoad("learn:7", 1)]
    assert backpressure.find_keep_fraction(loads) == fraction


def test_a_learner_may_be_behind_by_less_than_the_sink() -> None:
    loads = [GroupLoad("sink", 16), GroupLoad("learn:7", 10)]
    assert backpressure.find_keep_fraction(loads) == 0.5


async def test_a_learner_that_reads_nothing_for_two_minutes_holds_no_upload_up(
    stream_server: Redis,
) -> None:
    port = stream_server.get_connection_kwargs()["port"]
    stream_server.xgroup_create(KEY, "learn:7", id="0", mkstream=True)

    async def list_full(now_s: float) -> list[str]:
        async with AsyncRedis(port=port) as client:
            loads = await backpressure.read_loads(
                client, "cart_pole", ["learn:7"], clock=lambda: now_s
            )
        return [load.name for load in loads if load.n_waiting >= 16]

    for _ in range(18):
        stream_server.xadd(KEY, {"n": 1})
    assert await list_full(0) == ["sink", "learn:7"]
    assert await list_full(119) == ["sink", "learn:7"]
    assert await list_full(120) == ["sink"]
    # It was only slow: what waits holds uploads up again.
    stream_server.xreadgroup("learn:7", "slice-1", {KEY: ">"}, count=1)
    assert await list_full(121) == ["sink", "learn:7"]


def test_a_full_stream_is_said_to_be(client: Client, stream_server: Redis) -> None:
    _send(client, chunk_of())
    stream_server.config_set("maxmemory", 1)
    answer = _send(client, chunk_of(seed=1))
    assert answer.status_code == 503
    assert answer.json()["detail"].startswith("the stream is full")
    assert answer.headers["Retry-After"] == "5"


@pytest.mark.parametrize(
    ("url", "detail"), [("", "`./run` starts one"), ("redis://[::1]:9", "not")]
)
def test_a_stream_that_is_not_there_is_said_to_be(
    client: Client, settings: Any, url: str, detail: str
) -> None:
    settings.STREAM_REDIS_URL = url
    answer = _send(client, chunk_of())
    assert answer.status_code == 503
    assert detail in answer.json()["detail"]


def test_who_may_not_upload_is_told_what_is_missing(client: Client) -> None:
    assert _send(Client(), chunk_of()).status_code == 401
    assert _send(Client(), chunk_of()).headers["WWW-Authenticate"] == "Token"
    reader = callers.with_token(callers.token("eve", callers.READER))
    answer = _send(reader, chunk_of())
    assert answer.status_code == 403
    assert answer.json()["detail"].startswith("the token lacks the scope 'submit'")


def test_a_user_without_rights_may_upload_with_a_token(client: Client) -> None:
    player = callers.user("player")
    secret = tokens.issue_token(player, name="game", scopes=[Scope.SUBMIT], days=1)[1]
    assert _send(callers.with_token(secret), chunk_of()).status_code == 202


def test_a_revoked_token_is_refused_after_some_seconds(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("experience.api.uploads.monotonic", lambda: now[0])
    assert _send(client, chunk_of()).status_code == 202
    TokenAccess.objects.all().delete()
    assert _send(client, chunk_of(seed=1)).status_code == 202
    now[0] += 5
    assert _send(client, chunk_of(seed=2)).status_code == 401


def test_only_posts_are_answered(client: Client) -> None:
    assert client.get(ADDRESS).status_code == 405


def test_a_version_that_nobody_has_published_is_refused(client: Client) -> None:
    answer = _send(client, replace(chunk_of(), policy_version=4))
    assert answer.status_code == 400
    (refusal,) = answer.json()["errors"]
    assert refusal["field"] == "policy_version"
    assert "no run of cart_pole has published it, the highest is 3" in str(refusal)


def test_a_version_is_taken_as_soon_as_it_is_published(client: Client) -> None:
    assert _send(client, chunk_of()).status_code == 202
    made.ended(version=4, name="newer")
    assert _send(client, replace(chunk_of(seed=2), policy_version=4)).status_code == 202


def test_who_plays_is_told_the_version_of_the_run_that_learns(client: Client) -> None:
    made.begun()
    TrainingRun.objects.filter(name="poles").update(version=2)
    assert _send(client, chunk_of()).json()["latest_policy_version"] == 2
