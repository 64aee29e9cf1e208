"""Runs that have ended go on from the state that they left."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from redis import Redis

from experience import learning
from experience.models import Round, TrainingRun
from experience.runs import explaining, files, groups, ordering, releasing
from experience.runs.ending import fail_run
from experience.runs.recording import record_report
from experience.runs.resuming import resume_run
from experience.runs.rounds import advance_rounds
from experience.runs.starting import stop_run
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
    before, explanation = run.token, explaining.explain_run(run, now=later(0))
    assert explanation.next is not None
    assert "evalsite runs resume poles" in explanation.next
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


def test_a_run_of_a_network_that_no_trainer_can_build_is_not_resumed() -> None:
    run = begun(game="connect_four", algorithm="ppo_selfplay")
    TrainingRun.objects.update(parameters={"network": "nosuch"})
    assert fail_run(run, "parameter 'network' must be one of ...", now=later(3))
    run.refresh_from_db()
    explanation = explaining.explain_run(run, now=later(4))
    assert "other parameters take a run of another name" in str(explanation.next)
    with pytest.raises(ConflictError, match=r"cannot go on: .*got 'nosuch'"):
        resume(run)


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


def test_a_slice_of_before_is_neither_ordered_nor_failed(stream_server: Redis) -> None:
    before = begun()
    stop_run(before, actor=ACTOR, reason="", now=later(1))
    resume(TrainingRun.objects.get(), at_s=2)
    # Control had read it before it was stopped; nothing but its token is another.
    assert not ordering._take(before, leased_until=later(3))
    assert not fail_run(before, "its game cannot be played here", now=later(3))
    assert TrainingRun.objects.get().state == "running"


def test_what_is_refused_is_not_what_it_goes_on_from(stream_server: Redis) -> None:
    run = ordered(begun())
    state = learned(run)
    run = ordered(run, at_s=2)
    bad = {"state": put(run, b"another"), "weights": put(run, b"no weights"), "n_steps": 200}
    assert record_report(report(run, **bad), now=later(3))
    run.refresh_from_db()
    assert (run.state, run.state_sha256, run.n_steps) == ("failed", state, 100)
    releasing.advance_releases(now=later(4))
    resume(run)
    assert files.has_file(run.name, state)


def test_the_state_of_its_last_report_is_kept_when_a_run_is_closed(stream_server: Redis) -> None:
    run = ordered(begun(max_steps=100))
    stale_run = TrainingRun.objects.get()
    state = learned(run)
    # As it was read, before that report came.
    releasing._propose(stale_run, now=later(4))
    run.refresh_from_db()
    assert (run.is_closed, files.has_file(run.name, state)) == (True, True)


def test_uploads_wait_for_it_as_for_one_that_has_just_begun(stream_server: Redis) -> None:
    run = ordered(begun())
    learned(run)
    stop_run(run, actor=ACTOR, reason="", now=later(2))
    assert not learning.read_learning(run.game, now=later(90_000)).groups
    resume(run, at_s=90_000)
    for at_s, named in ((90_001, "groups"), (90_060, "waiting")):
        state = learning.read_learning(run.game, now=later(at_s))
        assert getattr(state, named) == (learn_group(run.name),)


def test_an_agent_that_was_released_and_retired_stays_retired(
    stream_server: Redis, tmp_path: Path
) -> None:
    run = rounds.begin()
    one = rounds.admit(rounds.publish(run, tmp_path, 0, n_steps=0, seed=0))
    stop_run(run, actor=ACTOR, reason="", now=later(2))
    advance_rounds(now=later(3))
    best = Agent.objects.get(name="stones@0")
    one.release.agent = best
    one.release.save()
    resume(run, at_s=4)
    advance_rounds(now=later(5))
    retired = Agent.objects.filter(is_retired=True)
    assert list(retired.values_list("name", flat=True)) == [best.name]


def test_whoever_may_not_begin_a_run_may_not_resume_one(stream_server: Redis) -> None:
    user = User.objects.create_user("bo", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_trainingrun"))
    client = Client()
    client.force_login(user)
    stop_run(begun(), actor=ACTOR, reason="", now=later(2))
    address = "/admin/experience/trainingrun/ask/resume/"
    assert client.get(f"{address}?pk={TrainingRun.objects.get().pk}&from=row").status_code == 403


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


def test_a_network_that_was_refused_is_checked_again(stream_server: Redis, tmp_path: Path) -> None:
    run = rounds.begin()
    one = rounds.publish(run, tmp_path, 0, n_steps=0, seed=0)
    rounds.admit(one, refusal="NameError in a plug-in")
    run.refresh_from_db()
    assert run.state == "failed"
    resume(run)
    advance_rounds(now=later(101))
    again = Round.objects.get(release__run=run, release__version=0)
    assert again.agent is not None
    assert again.agent.checkpoint is not None
    assert (again.agent.checkpoint.state, again.agent.checkpoint.reason) == ("checking", "")
    # It is asked for once, and refused once more where nothing was mended.
    advance_rounds(now=later(102))
    rounds.admit(again, refusal="NameError once more")
    run.refresh_from_db()
    assert (run.state, "NameError once more" in run.problem) == ("failed", True)
    resume(run, at_s=200)
    advance_rounds(now=later(201))
    again = Round.objects.get(release__run=run, release__version=0)
    assert rounds.admit(again).tournament is not None


def test_a_network_that_another_run_was_refused_with_is_checked_again(
    stream_server: Redis, tmp_path: Path
) -> None:
    before = rounds.publish(rounds.begin("before"), tmp_path, 0, n_steps=0, seed=0)
    rounds.admit(before, refusal="NameError in a plug-in")
    # Of the same seed, so its first weights are the same.
    one = rounds.publish(rounds.begin("after"), tmp_path, 0, n_steps=0, seed=0)
    advance_rounds(now=later(2))
    run = TrainingRun.objects.get(name="after")
    assert (run.state, run.problem) == ("running", "")
    one.refresh_from_db()
    assert one.agent is not None
    assert one.agent.name == "after@0 sampled"
    assert rounds.admit(one).tournament is not None
