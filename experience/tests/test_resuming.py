"""Runs that have ended go on from the state that they left."""

from pathlib import Path

import pytest
from django.test import Client
from redis import Redis

from experience.models import Round, TrainingRun
from experience.runs import explaining, files, groups, ordering
from experience.runs.ending import fail_run
from experience.runs.recording import record_report
from experience.runs.rounds import advance_rounds
from experience.runs.starting import resume_run, stop_run
from experience.stream import learn_group, stream_key
from experience.tests import made, rounds
from experience.tests.made import ACTOR, begun, later, ordered, put, report
from matches.errors import BadInputError, ConflictError
from matches.models import Agent, AuditRow, Tournament
from matches.store import blobs
from matches.tests import callers

pytestmark = pytest.mark.django_db(transaction=True)


def resume(run: TrainingRun, *, max_steps: int | None = None, at_s: float = 100) -> None:
    run.refresh_from_db()
    resume_run(run, max_steps=max_steps, actor=ACTOR, reason="mended", now=later(at_s))
    run.refresh_from_db()


def learned(run: TrainingRun, *, n_steps: int = 100, **fields: object) -> str:
    """Report that a slice has come so far; return the hash of its state."""
    state = put(run, f"state of {n_steps}".encode())
    terms = {"n_steps": n_steps, "state": state, "is_last": True, **fields}
    assert record_report(report(run, **terms), now=later(1))
    return state


def test_a_run_that_lost_its_trainers_goes_on_from_its_state(stream_server: Redis) -> None:
    run = ordered(begun())
    state = learned(run)
    run = ordered(run, at_s=2)
    assert fail_run(run, "5 slices in a row were lost", now=later(3))
    run.refresh_from_db()
    before, told = run.token, explaining.explain_run(run, now=later(0))
    assert told.next is not None
    assert "/api/v1/runs/poles/resume/" in told.next
    groups.destroy_ended_groups()
    resume(run)
    assert (run.state, run.problem, run.n_lost, run.ended_at, run.is_closed) == (
        *("running", "", 0, None, False),
    )
    assert run.token != before, "who trained it before may report no more"
    run = ordered(run, at_s=20_000)
    order = ordering.make_order(run, now=later(20_000))
    assert (order.state, order.version) == (state, 0)
    names = {group["name"] for group in stream_server.xinfo_groups(stream_key(run.game))}
    assert learn_group(run.name).encode() in names
    row = AuditRow.objects.get(action="training_run.resume")
    assert (row.reason, row.touched["state"]) == ("mended", ["failed", "running"])


def test_a_run_that_is_done_goes_on_for_more_steps(stream_server: Redis) -> None:
    run = ordered(begun(max_steps=100))
    learned(run)
    run.refresh_from_db()
    assert run.state == "done"
    for most in (None, 100):
        with pytest.raises(BadInputError, match="learned from 100 steps: name more") as caught:
            resume(run, max_steps=most)
        assert caught.value.field == "max_steps"
    resume(run, max_steps=300)
    assert (run.state, run.max_steps) == ("running", 300)
    learned(ordered(run, at_s=3), n_steps=300)
    run.refresh_from_db()
    assert (run.state, run.n_steps) == ("done", 300)


def test_a_run_that_goes_on_or_cannot_is_left_as_it_is(stream_server: Redis) -> None:
    run = ordered(begun())
    with pytest.raises(ConflictError, match="only one that has ended"):
        resume(run)
    state = learned(run)
    stop_run(run, actor=ACTOR, reason="", now=later(2))
    other = begun("other")
    with pytest.raises(ConflictError, match="'other' learns from the uploads of cart_pole"):
        resume(run)
    stop_run(other, actor=ACTOR, reason="", now=later(3))
    blobs.delete_file(files.name_file(run.name, state), storage=files.STORAGE)
    with pytest.raises(ConflictError, match="the file of its state is gone"):
        resume(run)
    assert run.state == "stopped"


def test_a_run_whose_dataset_is_gone_does_not_learn_from_uploads_instead(
    stream_server: Redis,
) -> None:
    dataset = made.listed_dataset("good")
    run = begun(algorithm="bc", dataset=dataset)
    stop_run(run, actor=ACTOR, reason="", now=later(2))
    resume(run)
    assert (run.state, run.has_group) == ("running", False)
    stop_run(run, actor=ACTOR, reason="", now=later(3))
    dataset.delete()
    with pytest.raises(ConflictError, match="what it learned from was deleted"):
        resume(run)


def test_its_newest_version_plays_again(stream_server: Redis, tmp_path: Path) -> None:
    run = rounds.begin()
    before = rounds.admit(rounds.publish(run, tmp_path, 0, n_steps=0, seed=0))
    stop_run(run, actor=ACTOR, reason="", now=later(2))
    advance_rounds(now=later(3))
    assert not Agent.objects.filter(is_retired=False).exists()
    resume(run, at_s=4)
    advance_rounds(now=later(5))
    one = Round.objects.get()
    assert one.tournament_id not in (None, before.tournament_id)
    assert not Agent.objects.filter(is_retired=True).exists()
    assert ordered(run, at_s=6).order is None
    rounds.play(one)
    order = ordering.make_order(ordered(run, at_s=7), now=later(7))
    assert (len(order.files), order.state) == (2, run.state_sha256)
    states = Tournament.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["cancelled", "done"]


def test_it_is_resumed_over_the_api(stream_server: Redis) -> None:
    run = begun()
    operator = callers.with_token(callers.token("operator", callers.OPERATOR))
    address = f"/api/v1/runs/{run.name}/resume/"
    assert operator.post(address, {}, "application/json").status_code == 409
    stop_run(run, actor=ACTOR, reason="", now=later(2))
    refused = operator.post(address, {"max_steps": 0}, "application/json")
    assert refused.json()["errors"][0]["field"] == "max_steps"
    assert Client().post(address, {}, "application/json").status_code == 401
    answer = operator.post(address, {"max_steps": 10**6, "reason": "more"}, "application/json")
    assert (answer.status_code, answer.json()["state"]) == (200, "running")
    assert answer.json()["max_steps"] == 10**6
