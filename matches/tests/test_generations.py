"""Endpoints of generated runs: checked, started once, fetched as shards that never differ."""

from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from msgspec.structs import replace
from redis import Redis

from arena.messages import Alive
from arena.needs import Needs
from matches.artifacts.agents import register_spelled_agent
from matches.errors import BadInputError
from matches.ledger import generation, node_presence
from matches.ledger.generation import Generation, Side
from matches.models import Agent, Leaderboard, Tournament, TrajectoryPiece
from matches.plans import TournamentPlan
from matches.store import blobs
from matches.store.clock import db_now
from matches.tests import callers, pieces
from matches.tests import factories as make
from matches.tests.test_locking import at_once
from matches.tests.weights import added, verdict

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/generations/"
RUN = {"agent_a": "level:10", "agent_b": "level:50", "game": "skill_game", "matches": 8}
KEY = {"run_key": "a" * 32}


@pytest.fixture
def submitter(broker: Redis) -> Client:
    return callers.with_token(callers.token("sue", callers.SUBMITTER))


@pytest.fixture
def _node() -> None:
    """Let a node report by the clock that the server reads."""
    report = Alive(
        node="node-1",
        incarnation="life",
        slots=1,
        capabilities=["cpu"],
        versions={},
        orders=[],
        key="",
    )
    node_presence.note_alive(report, now=db_now())


@pytest.fixture
def played(broker: Redis) -> Tournament:
    make.alive()
    levels = ("level:10", "level:50")
    tournament = make.planned(10, agents=levels, is_rated=False, keeps_trajectories=True)
    pieces.play(tournament, 8)
    return tournament


def _post(client: Client, body: dict[str, Any], address: str = ADDRESS) -> Any:
    return client.post(address, body, "application/json")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_node")
def test_two_calls_with_one_key_at_once_start_one_run(submitter: Client) -> None:
    # SQLite lets one write at a time: it is the run on PostgreSQL that tells.
    for number in range(8):
        body = {**RUN, "run_key": f"{number:032x}", "agent_b": f"level:{number}"}
        answers = list[Any]()
        at_once(*[partial(_post_into, answers, submitter, body)] * 2)
        assert [answer.status_code for answer in answers] == [201, 201], answers[-1].content
        assert answers[0].json() == answers[1].json()
    assert (Tournament.objects.count(), Leaderboard.objects.count()) == (8, 1)


def _post_into(answers: list[Any], client: Client, body: dict[str, Any]) -> None:
    answers.append(_post(client, body))


def _get_shard(client: Client, tournament: int, number: int, **headers: str) -> Any:
    address = f"/api/v1/tournaments/{tournament}/shards/{number}/?matches_per_shard=4"
    return client.get(address, headers=headers)


def _read(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def test_a_check_says_what_lacks_and_leaves_nothing(submitter: Client) -> None:
    checked = _post(submitter, RUN, f"{ADDRESS}check/").json()
    assert checked["agents"] == [["level:10", ""], ["level:50", ""]]
    assert checked["game"] == "skill_game"
    assert checked["n_bytes"] > 0
    (missing,) = checked["missing"]
    assert "a play node with cpu" in missing
    refused = _post(submitter, RUN | KEY)
    assert (refused.status_code, missing in refused.json()["detail"]) == (503, True)
    assert not Agent.objects.exists()
    assert not Leaderboard.objects.exists()
    assert not Tournament.objects.exists()


@pytest.mark.usefixtures("_node")
def test_the_same_key_is_the_same_tournament_and_no_secret_of_it(submitter: Client) -> None:
    first, again = (_post(submitter, RUN | KEY | {"order_limit": n}) for n in (4, 2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    tournament = Tournament.objects.get()
    assert first.json()["tournament"] == tournament.pk
    assert tournament.order_limit == 2
    assert tournament.key != KEY["run_key"]
    assert not tournament.is_rated
    assert not tournament.leaderboard.is_rated


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"agent_b": "", "checkpoint_b": "3"}, "checkpoint_b"),
        ({"agent_b": "luck"}, "agent_b"),
        ({"opening_plies": 2}, "opening_plies"),
        ({"matches": 0}, "matches"),
        ({"run_key": "x"}, "run_key"),
    ],
)
def test_what_is_refused_is_named(submitter: Client, body: dict[str, Any], field: str) -> None:
    refused = _post(submitter, RUN | KEY | body)
    assert refused.status_code == 400
    assert [error["field"] for error in refused.json()["errors"]] == [field]
    assert not Agent.objects.exists()


def test_a_shard_is_the_same_whenever_it_is_made(submitter: Client, played: Tournament) -> None:
    one, other = (_get_shard(submitter, played.pk, 1) for _ in range(2))
    content = _read(one)
    assert content == _read(other)
    assert one["ETag"] == f'"{sha256(content).hexdigest()}"'
    assert one["Content-Type"] == "application/vnd.apache.parquet"
    assert "public" not in one["Cache-Control"]
    counts = ("Matches", "Rows", "First-Episode", "Last-Episode")
    assert [one[f"Evalsite-{name}"] for name in counts] == ["4", "8", "4", "7"]
    unchanged = _get_shard(submitter, played.pk, 1, **{"If-None-Match": one["ETag"]})
    assert unchanged.status_code == 304


def test_a_shard_that_is_open_beyond_the_last_or_gone_is_none(
    submitter: Client, played: Tournament
) -> None:
    assert _get_shard(submitter, played.pk, 2).status_code == 409
    assert _get_shard(submitter, played.pk, 3).status_code == 404
    for piece in TrajectoryPiece.objects.all():
        blobs.delete_file(piece.path, storage="trajectories")
    assert _get_shard(submitter, played.pk, 0).status_code == 410
    Tournament.objects.update(keeps_trajectories=False)
    assert _get_shard(submitter, played.pk, 0).status_code == 404


def test_the_manifest_counts_what_is_in_whole_shards(submitter: Client, played: Tournament) -> None:
    address = f"/api/v1/tournaments/{played.pk}/manifest/"
    manifest = submitter.get(f"{address}?matches_per_shard=5").json()
    assert (manifest["is_complete"], manifest["matches"]) == (False, 5)
    assert submitter.get(address).status_code == 400


# Whom a name means


def _agents(*sides: Side, game: str = "") -> list[str]:
    plan = TournamentPlan(name="x", n_matches=4, is_rated=False, keeps_trajectories=True)
    return [a.name for a in generation.find_agents(Generation(sides, plan, game))]


def test_a_stored_agent_tells_the_game(broker: Redis) -> None:
    register_spelled_agent("random", game="chess")
    assert _agents(Side("random")) == ["random"]
    assert _agents(Side("random"), Side("greedy", field="agent_b")) == ["random", "greedy"]


def test_the_same_agent_twice_is_self_play(broker: Redis) -> None:
    sides = (Side("random"), Side("random", field="agent_b"))
    assert _agents(*sides, game="chess") == ["random"]


def test_agents_without_a_common_game_are_refused(broker: Redis) -> None:
    register_spelled_agent("random", game="chess")
    register_spelled_agent("greedy", game="othello")
    with pytest.raises(BadInputError, match="no game in common"):
        _agents(Side("random"), Side("greedy", field="agent_b"))


def test_names_that_are_near_are_offered(broker: Redis) -> None:
    register_spelled_agent("alphabeta:4", game="chess")
    with pytest.raises(BadInputError, match="did you mean alphabeta:4"):
        _agents(Side("alphabet:4"))


def test_a_step_or_hash_names_a_checkpoint_of_a_run(broker: Redis, tmp_path: Path) -> None:
    rows = [added(tmp_path, "run", seed=step, step=step) for step in (10, 20)]
    for agent in rows:
        verdict(agent.checkpoint)
    assert _agents(Side("run", "20")) == ["run@20"]
    assert rows[0].checkpoint is not None
    assert _agents(Side("run", rows[0].checkpoint.sha256[:10])) == ["run@10"]
    assert _agents(Side("run@10")) == ["run@10"]
    with pytest.raises(BadInputError, match="there are the steps 10, 20"):
        _agents(Side("run", "30"))
    with pytest.raises(BadInputError, match="there are the steps 10, 20"):
        _agents(Side("run", "last"))


def test_of_several_agents_of_a_checkpoint_a_step_means_the_one_that_is_named_by_it(
    broker: Redis, tmp_path: Path
) -> None:
    (plain, other) = (added(tmp_path, "run", seed=step, step=step) for step in (10, 20))
    for agent in (plain, other):
        assert agent.checkpoint is not None
        verdict(agent.checkpoint)
    for name, agent in (("run@10 sampled", plain), ("fast", other), ("slow", other)):
        Agent.objects.create(
            name=name, game=agent.game, policy="network", checkpoint=agent.checkpoint,
            parameters={"temperature": len(name)}, created_at=make.NOW,
        )  # fmt: skip
    assert _agents(Side("run", "10")) == ["run@10"]
    other.name = "renamed"
    other.save()
    with pytest.raises(BadInputError, match="'20' of 'run' fits 'renamed', 'fast', 'slow': name"):
        _agents(Side("run", "20"))
    with pytest.raises(BadInputError, match=r"there are the steps 10, 20$"):
        _agents(Side("run", "30"))


def test_a_checkpoint_that_is_not_ready_is_refused(broker: Redis, tmp_path: Path) -> None:
    agent = added(tmp_path, "run", step=10)
    with pytest.raises(BadInputError, match="being checked"):
        _agents(Side("run@10"))
    verdict(agent.checkpoint, refusal="NaN weights")
    with pytest.raises(BadInputError, match="refused: NaN weights"):
        _agents(Side("run@10"))


def test_a_gpu_worker_is_missed_where_one_is_needed(broker: Redis) -> None:
    lacking = generation.list_missing_workers(Needs("cpu+gpu"), now=make.NOW)
    assert [words in text for words, text in zip(("cpu", "gpu"), lacking, strict=True)] == [
        *(True, True)
    ]
    make.alive()
    assert len(generation.list_missing_workers(Needs("torch"), now=make.NOW)) == 1
    assert generation.list_missing_workers(Needs("cpu"), now=make.NOW) == []


def test_runs_of_the_same_rules_share_a_board(broker: Redis) -> None:
    plan = TournamentPlan(name="x", n_matches=4, is_rated=False, keeps_trajectories=True)
    sides = (Side("level:10"), Side("level:50", field="agent_b"))
    one, other = (
        generation.start_generation(Generation(sides, replace(plan, key=key), "skill_game"))
        for key in ("a", "b")
    )
    assert one != other
    assert one.leaderboard == other.leaderboard
