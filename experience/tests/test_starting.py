"""Runs begin where they can be trained, one per stream, and end when they are told to."""

from typing import Any
from uuid import uuid4

import pytest
from redis import Redis

from experience.models import TrainingRun
from experience.runs import starting
from experience.runs.ordering import make_order
from experience.runs.starting import stop_run
from experience.tests import made
from experience.tests.made import ACTOR, NOW, begun, listed_dataset
from matches.errors import BadInputError, ConflictError
from matches.models import AuditRow
from matches.tests.weights import added

pytestmark = pytest.mark.django_db
States = TrainingRun.State


def test_a_run_begins_with_what_its_algorithm_has_by_itself(stream_server: Redis) -> None:
    run = begun()
    assert (run.state, run.version, run.has_group) == (States.RUNNING, -1, True)
    assert run.parameters
    assert AuditRow.objects.get().action == "training_run.start"


@pytest.mark.parametrize(
    ("terms", "field", "words"),
    [
        ({"algorithm": "sarsa"}, "algorithm", "sarsa"),
        ({"game": "checkers"}, "game", "checkers"),
        ({"game": "connect_four"}, "game", "2 seats"),
        ({"parameters": {"speed": 3}}, "parameters", "speed"),
        ({"name": "a b"}, "name", "'a b': 1 to 60"),
        ({"name": "x" * 61}, "name", "1 to 60"),
    ],
)
def test_what_cannot_be_trained_is_refused_by_its_field(
    stream_server: Redis, terms: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(BadInputError, match=words) as caught:
        begun(**terms)
    assert caught.value.field == field
    assert not TrainingRun.objects.exists()


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ("nosuch", "must be one of .*lines, mlp, .*got 'nosuch'"),
        ("mlp;hidden", "then ;name=value"),
        ("mlp;hidden=abc", "mlp: parameter 'hidden' must be up to 32 sizes"),
        ("mlp;size=3", "'size' is unknown: mlp takes hidden"),
        ("lines;width=many", "'width' must be int, got 'many'"),
        ("lines;width=9999", "'width' must be 1..4096"),
    ],
)
def test_a_network_that_no_trainer_can_build_is_refused(network: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words) as caught:
        begun(game="connect_four", algorithm="ppo_selfplay", parameters={"network": network})
    assert caught.value.field == "parameters"
    assert not TrainingRun.objects.exists()


def test_a_margin_that_no_two_agents_are_apart_is_refused_before_anything_is_trained(
    db: None,
) -> None:
    with pytest.raises(BadInputError, match="must be at most 100, got 1000000") as caught:
        begun(game="connect_four", algorithm="ppo_selfplay", margin=1e6)
    assert caught.value.field == "margin"


def test_a_name_that_is_taken_is_refused(stream_server: Redis, tmp_path: Any) -> None:
    made.ended(0, "poles")
    added(tmp_path, "walkers")
    for name in ("poles", "walkers"):
        with pytest.raises(BadInputError, match="choose another"):
            begun(name)


def test_without_a_stream_no_run_begins_that_learns_from_it(settings: Any) -> None:
    settings.STREAM_REDIS_URL = ""
    with pytest.raises(BadInputError, match="has no stream of experience"):
        begun()


def test_of_two_runs_that_would_learn_from_one_stream_one_begins(stream_server: Redis) -> None:
    begun("first")
    with pytest.raises(ConflictError, match="'first' learns from the uploads of cart_pole"):
        begun("second")
    begun("other", game="acrobot")


def test_a_run_is_stopped_once(stream_server: Redis) -> None:
    run = made.ordered(begun())
    assert stop_run(run, actor=ACTOR, reason="enough", now=NOW)
    assert not stop_run(run, actor=ACTOR, reason="enough", now=NOW)
    run.refresh_from_db()
    assert (run.state, run.order, run.leased_until, run.ended_at) == (
        *(States.STOPPED, None, None, NOW),
    )
    assert AuditRow.objects.filter(action="training_run.stop").count() == 1


def test_a_run_of_a_dataset_is_ordered_with_its_shards_and_needs_no_stream(settings: Any) -> None:
    settings.STREAM_REDIS_URL = ""
    dataset = listed_dataset("good")
    run = begun(algorithm="bc", dataset=dataset)
    assert not run.has_group
    run.order = uuid4()
    (file,) = make_order(run, now=NOW).files
    shard = dataset.shards.get()
    assert file.sha256 == shard.sha256
    assert file.source.startswith(f"/files/datasets/good/{shard.sha256}?until=")


@pytest.mark.parametrize(
    ("dataset", "terms", "refusal"),
    [
        ({}, {"algorithm": "appo"}, "appo does not learn from one: use bc"),
        ({"game": "acrobot"}, {"algorithm": "bc"}, "good is of acrobot, not cart_pole"),
        ({"state": "building"}, {"algorithm": "bc"}, "good is building: not ready yet"),
    ],
)
def test_a_dataset_that_cannot_be_learned_from_is_refused(
    dataset: dict[str, Any], terms: dict[str, Any], refusal: str
) -> None:
    with pytest.raises(BadInputError, match=refusal) as refused:
        begun(dataset=listed_dataset("good", **dataset), **terms)
    assert refused.value.field == "dataset"


def test_a_dataset_of_too_many_shards_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "MAX_FILES", 0)
    with pytest.raises(BadInputError, match="1 shards, more than 0: build it with a larger"):
        begun(algorithm="bc", dataset=listed_dataset("good"))
