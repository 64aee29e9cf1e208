"""Reports of trainers: the first valid one counts; of what is put, what is named is kept."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from redis import Redis

from experience.models import Release, TrainingRun
from experience.runs import files, snapshots
from experience.runs.explaining import explain_run
from experience.runs.recording import record_report
from experience.runs.starting import stop_run
from experience.tests import made
from experience.tests.made import ACTOR, begun, later, ordered, put, report, sealed

pytestmark = pytest.mark.django_db(transaction=True)
States = TrainingRun.State


@pytest.fixture
def run(stream_server: Redis) -> TrainingRun:
    """Return a run whose first slice is under way."""
    return ordered(begun(max_steps=1_000))


def _stored(run: TrainingRun) -> set[str]:
    return set(storages[files.STORAGE].listdir(run.name)[1])


def test_a_version_is_published_with_its_weights(run: TrainingRun, tmp_path: Path) -> None:
    weights = put(run, sealed(tmp_path))
    sent = report(run, version=2, n_steps=300, weights=weights, metrics={"return": 21.5})
    assert record_report(sent, now=later(1))
    run.refresh_from_db()
    assert (run.version, run.n_steps, run.trainer) == (2, 300, "train-1")
    release = Release.objects.get()
    assert (release.version, release.sha256, release.state) == (2, weights, "snapshot")
    assert (release.architecture, release.parameters) == ("mlp", {"hidden": "8"})
    assert release.metrics == run.metrics == {"return": 21.5}


def test_a_report_that_comes_twice_counts_once(run: TrainingRun, tmp_path: Path) -> None:
    sent = report(run, weights=put(run, sealed(tmp_path)), is_last=True)
    assert record_report(sent, now=later(1))
    assert not record_report(sent, now=later(2))
    assert Release.objects.count() == 1


@pytest.mark.parametrize("field", ["token", "key"])
def test_who_has_not_the_token_of_the_run_reports_nothing(run: TrainingRun, field: str) -> None:
    assert not record_report(report(run) | {field: "guessed"}, now=later(1))


@pytest.mark.parametrize("sent", [None, {}, {"run": 3}, {"run": "x" * 10**6}])
def test_what_is_no_report_is_dropped(run: TrainingRun, sent: Any) -> None:
    assert not record_report(sent, now=later(1))


def test_a_report_on_a_slice_that_is_over_or_of_a_run_that_was_stopped_is_late(
    run: TrainingRun,
) -> None:
    first = report(run)
    assert record_report(report(run, is_last=True), now=later(1))
    assert not record_report(first, now=later(2))
    run = ordered(run, at_s=3)
    sent = report(run)
    stop_run(run, actor=ACTOR, reason="", now=later(4))
    assert not record_report(sent, now=later(5))


def test_an_earlier_report_does_not_come_after_a_later_one(run: TrainingRun) -> None:
    assert record_report(report(run, n_steps=200), now=later(1))
    assert not record_report(report(run, n_steps=100), now=later(2))


def test_after_a_lost_slice_the_steps_go_back_and_a_version_that_is_out_stays(
    run: TrainingRun, stream_server: Redis, tmp_path: Path
) -> None:
    first = put(run, sealed(tmp_path))
    assert record_report(report(run, version=4, n_steps=400, weights=first), now=later(1))
    stream_server.flushall()
    run = ordered(run, at_s=100)
    other = put(run, sealed(tmp_path, seed=1))
    assert record_report(report(run, version=4, n_steps=350, weights=other), now=later(101))
    run.refresh_from_db()
    assert (run.n_steps, run.version) == (350, 4)
    assert Release.objects.get().sha256 == first


def test_a_run_that_has_learned_from_its_steps_is_done(run: TrainingRun) -> None:
    assert record_report(report(run, n_steps=1_000), now=later(1))
    run.refresh_from_db()
    assert run.state == States.RUNNING
    assert record_report(report(run, n_steps=1_000, is_last=True), now=later(2))
    run.refresh_from_db()
    assert (run.state, run.order, run.ended_at) == (States.DONE, None, later(2))


def test_a_refusal_of_the_trainer_ends_the_run_and_says_why(run: TrainingRun) -> None:
    assert record_report(report(run, n_steps=0, refusal="not finite\0", is_last=True), now=later(1))
    run.refresh_from_db()
    assert (run.state, run.problem, run.version) == (States.FAILED, "not finite ", -1)


def test_a_refusal_after_a_report_of_its_slice_ends_the_run_too(run: TrainingRun) -> None:
    assert record_report(report(run, n_steps=300), now=later(1))
    assert record_report(report(run, n_steps=0, refusal="not finite", is_last=True), now=later(2))
    run.refresh_from_db()
    assert (run.state, run.problem, run.n_steps) == (States.FAILED, "not finite", 300)


def test_what_a_trainer_has_given_up_is_ordered_anew_and_is_no_loss(run: TrainingRun) -> None:
    assert record_report(report(run, n_steps=300, is_last=True), now=later(0))
    run = ordered(run)
    for turn in range(10):
        sent = report(run, n_steps=0, is_last=True, is_given_up=True)
        assert record_report(sent, now=later(turn))
        run = ordered(run, at_s=turn)
    assert (run.state, run.slice, run.n_lost, run.n_steps) == (States.RUNNING, 12, 0, 300)


def test_what_a_slice_was_given_up_for_is_told_until_one_comes_to_something(
    run: TrainingRun,
) -> None:
    why = "the web server answers 507 not stored: No space left on device: '/data/training/x'"
    assert record_report(
        report(run, n_steps=0, is_last=True, is_given_up=True, waits_for=why), now=later(1)
    )
    run = ordered(run, at_s=2)
    (note,) = explain_run(run, now=later(3)).notes
    assert note == f"its last slice came to nothing: {why.replace('/data/training', '…')}"
    assert record_report(report(run, n_steps=300, is_last=True), now=later(4))
    run.refresh_from_db()
    assert (run.problem, explain_run(run, now=later(4)).notes) == ("", ())


def test_what_breaks_slices_again_and_again_is_the_reason_of_the_run(
    run: TrainingRun, stream_server: Redis
) -> None:
    for turn in range(5):
        fault = report(run, n_steps=0, is_last=True, is_given_up=True, refusal="KeyError: 'x'")
        assert record_report(fault, now=later(300 * turn))
        run.refresh_from_db()
        assert (run.state, run.problem, run.n_lost) == (States.RUNNING, "KeyError: 'x'", turn)
        stream_server.delete("train")
        run = ordered(run, at_s=300 * turn + 250)
    assert run.state == States.FAILED
    assert run.problem == "5 slices in a row were lost: KeyError: 'x'"


def test_what_breaks_a_slice_is_told_without_the_folders_of_its_machine(run: TrainingRun) -> None:
    why = "FileNotFoundError: no '/home/ann/plugins/net.bin'"
    assert record_report(
        report(run, n_steps=0, is_last=True, is_given_up=True, refusal=why), now=later(1)
    )
    run.refresh_from_db()
    assert run.problem == "FileNotFoundError: no '…/net.bin'"


@pytest.mark.parametrize("is_given_up", [True, False])
def test_what_no_database_can_store_of_a_fault_is_replaced(
    run: TrainingRun, *, is_given_up: bool
) -> None:
    # As Python reads the name of a file that is no UTF-8.
    why = "OSError: \udcff\0.bin"
    refused = report(run, n_steps=0, is_last=True, is_given_up=is_given_up, refusal=why)
    assert record_report(refused, now=later(1))
    run.refresh_from_db()
    assert run.problem == "OSError: ? .bin"


def test_what_broke_a_slice_is_not_said_of_the_one_after_it(
    run: TrainingRun, stream_server: Redis
) -> None:
    fault = report(run, n_steps=0, is_last=True, is_given_up=True, refusal="KeyError: 'x'")
    assert record_report(fault, now=later(1))
    for at_s in (60, 120):  # the second time nobody has said a word
        stream_server.delete("train")
        run = ordered(run, at_s=at_s)
    (note,) = explain_run(run, now=later(121)).notes
    assert note.startswith("2 slices in a row came to nothing (last told: KeyError: 'x');")


def test_what_broke_a_slice_is_over_with_the_next_that_comes_to_something(
    run: TrainingRun, stream_server: Redis
) -> None:
    fault = report(run, n_steps=0, is_last=True, is_given_up=True, refusal="MemoryError: ")
    assert record_report(fault, now=later(1))
    stream_server.delete("train")
    run = ordered(run, at_s=60)
    assert record_report(report(run, n_steps=300, is_last=True), now=later(61))
    run.refresh_from_db()
    assert (run.n_lost, run.problem, run.n_steps) == (0, "", 300)


def test_slices_that_always_end_after_their_first_sign_are_lost(
    run: TrainingRun, stream_server: Redis
) -> None:
    for turn in range(5):
        assert record_report(report(run, n_steps=0), now=later(300 * turn))
        stream_server.delete("train")
        run = ordered(run, at_s=300 * turn + 250)
    assert (run.state, run.n_lost) == (States.FAILED, 4)


def test_weights_and_states_that_are_none_end_the_run(
    run: TrainingRun, stream_server: Redis, tmp_path: Path
) -> None:
    faults = {
        "weights": [put(run, b"pickled"), "0" * 64, put(run, sealed(tmp_path, game="acrobot"))],
        "state": ["1" * 64],
    }
    problems = {
        (field, sha256): _find_problem(run, field, sha256)
        for field, hashes in faults.items()
        for sha256 in hashes
    }
    assert all("what its trainer put is refused" in problem for problem in problems.values())
    assert "sealed for acrobot, not for cart_pole" in problems["weights", faults["weights"][2]]
    assert not Release.objects.exists()


def _find_problem(run: TrainingRun, field: str, sha256: str) -> str:
    """Return why a run fails of which the trainer names such a file; it goes on afterwards."""
    assert record_report(report(run, **{field: sha256}), now=later(1))
    problem = TrainingRun.objects.get(pk=run.pk).problem
    own = TrainingRun.objects.filter(pk=run.pk)
    own.update(state=States.RUNNING, order=run.order, problem="", ended_at=None)
    return problem


def test_only_the_last_state_and_the_latest_snapshots_are_kept(
    run: TrainingRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MOST_KEPT", 2)
    states = [put(run, b"first"), put(run, b"second")]
    weights = [put(run, sealed(tmp_path, seed=seed)) for seed in range(4)]
    for version, sha256 in enumerate(weights):
        state = states[version // 2]
        sent = report(run, version=version, n_steps=version, weights=sha256, state=state)
        run.refresh_from_db()
        assert record_report(sent, now=later(version))
    assert _stored(run) == {states[1], *weights[2:]}
    assert [release.state for release in Release.objects.order_by("version")] == [
        *("expired", "expired", "snapshot", "snapshot")
    ]


def test_files_that_nothing_names_go_with_the_end_of_the_run(
    run: TrainingRun, tmp_path: Path
) -> None:
    weights = put(run, sealed(tmp_path))
    assert record_report(report(run, weights=weights), now=later(1))
    put(run, b"of a slice that was lost")
    assert files.delete_unnamed(run) == 1
    assert _stored(run) == {weights}
    assert files.delete_unnamed(made.ended(0)) == 0
