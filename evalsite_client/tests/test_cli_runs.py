"""`evalsite runs`: training runs are begun, listed, shown, stopped and resumed."""

from pathlib import Path
from typing import Any

import pytest

from evalsite_client.tests.commands import Evalsite, as_json, ok
from experience.models import TrainingRun
from experience.runs.recording import record_report
from experience.tests import made

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]


@pytest.fixture(autouse=True)
def _own_stream_and_files(settings: Any, valkey_url: str, tmp_path: Path) -> None:
    settings.STREAM_REDIS_URL = valkey_url
    backend = "django.core.files.storage.FileSystemStorage"
    options = {"BACKEND": backend, "OPTIONS": {"location": str(tmp_path / "stored")}}
    settings.STORAGES = {**settings.STORAGES, "training": options}


def test_a_run_is_begun_with_what_is_said_and_else_with_the_defaults(evalsite: Evalsite) -> None:
    words = ("-p", "max_lag=7", "--margin", 20, "--max-steps", 500)
    output = ok(evalsite("runs", "start", "poles", "--game", "cart_pole", *words))
    assert output.startswith("run poles begins: `evalsite runs show poles`")
    run = TrainingRun.objects.get()
    assert (run.margin, run.max_steps, run.parameters["max_lag"]) == (20, 500, 7)
    assert (run.algorithm, run.seed, run.budget) == ("appo", 0, 200)


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("poles",), "game"),
        (("poles", "--game", "checkers"), "checkers"),
        (("poles", "--game", "cart_pole", "--algorithm", "sarsa"), "sarsa"),
        (("poles", "--game", "cart_pole", "-p", "speed=3"), "speed"),
        (("a b", "--game", "cart_pole"), "'a b'"),
        (("poles", "--game", "cart_pole", "--dataset", "none"), "none"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    evalsite: Evalsite, words: tuple[str, ...], refusal: str
) -> None:
    status, _, complaint = evalsite("runs", "start", *words)
    assert (status, refusal in complaint) == (2, True), complaint
    assert not TrainingRun.objects.exists()


def test_runs_are_listed_by_game_and_state(evalsite: Evalsite) -> None:
    made.begun()
    made.ended(3)
    head, first, second = ok(evalsite("runs")).splitlines()
    assert head.split()[:4] == ["name", "game", "algorithm", "state"]
    assert [first.split()[0], second.split()[0]] == ["before", "poles"]
    assert [run["name"] for run in as_json(evalsite("runs", "--state", "done", "--json"))] == [
        "before"
    ]
    assert not as_json(evalsite("runs", "list", "--game", "acrobot", "--json"))


def test_a_run_is_stopped_shown_and_resumed(evalsite: Evalsite) -> None:
    run = made.ordered(made.begun(max_steps=100))
    report = made.report(run, n_steps=60, state=made.put(run, b"state"), is_last=True)
    assert record_report(report, now=made.later(1))
    assert ok(evalsite("runs", "stop", "poles")) == "run poles is stopped after 60 steps\n"
    lines = ok(evalsite("runs", "show", "poles")).splitlines()
    assert ["state", "stopped"] in [line.split() for line in lines]
    output = ok(evalsite("runs", "resume", "poles", "--max-steps", 400, "--reason", "more"))
    assert output == "run poles goes on: 60 of 400 steps\n"
    status, _, refusal = evalsite("runs", "resume", "poles")
    assert (status, "only one that has ended" in refusal) == (2, True)
    TrainingRun.objects.update(state="failed", problem="its disk is full")
    status, out, _ = evalsite("runs", "show", "poles")
    assert (status, "its disk is full" in out) == (1, True)
    assert "`evalsite runs resume poles`; other parameters take a run of another name" in out


def test_a_run_that_is_not_there_is_told_with_what_lists_them(evalsite: Evalsite) -> None:
    status, _, complaint = evalsite("runs", "show", "nobody")
    assert (status, "`evalsite runs` lists them" in complaint) == (2, True), complaint
