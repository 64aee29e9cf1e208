"""What import-linter does not see by itself: that it sees, and what travels as a string."""

import shutil
import subprocess
from pathlib import Path

import pytest

from arena.queues import (
    CHECK_TASK,
    DRAIN_TASK,
    EXPERIENCE_ALIVE_TASK,
    EXPERIENCE_RECORD_TASK,
    PLAY_TASK,
)
from evalsite.celery import app
from inference import tasks as gpu_tasks
from launcher.folders import ROOT
from launcher.toolbox import TOOLS
from matches import dispatch
from workers import tasks as play_tasks

PACKAGES = (
    *("arena", "evalsite", "experience", "gameservers", "inference", "launcher", "live", "matches"),
    *("pages", "training", "workers"),
)
PLANTED = {
    "arena uses Django": ("arena/seeding.py", "import django"),
    "arena uses torch, hidden in a function": (
        "arena/seeding.py",
        "def planted():\n    import torch",
    ),
    "arena imports the database app": ("arena/seeding.py", "import matches"),
    "a play node uses Django": ("workers/settings.py", "from django.conf import settings"),
    "a play node imports the database app": ("workers/settings.py", "import matches.dispatch"),
    "a gpu node uses Django": ("inference/settings.py", "from django.conf import settings"),
    "a play node imports the engine": ("workers/settings.py", "import inference.engine"),
    "a train node uses Django": ("training/errors.py", "from django.conf import settings"),
    "a train node imports the database app": ("training/errors.py", "import matches.dispatch"),
    "the database app imports trainers": ("matches/dispatch.py", "import training.errors"),
    "a game server uses Django": ("gameservers/errors.py", "from django.conf import settings"),
    "a game server imports the engine": ("gameservers/errors.py", "import inference.engine"),
    "a game server imports play nodes": ("gameservers/errors.py", "import workers.settings"),
    "a play node imports game servers": ("workers/settings.py", "import gameservers.errors"),
    "the database app imports game servers": ("matches/dispatch.py", "import gameservers.errors"),
    "the database app imports the queue": ("matches/dispatch.py", "import inference.settings"),
    "the database app imports play nodes": ("matches/dispatch.py", "import workers.settings"),
    "the database app imports the pages": ("matches/dispatch.py", "import pages.apps"),
    "the database app imports the later one": ("matches/dispatch.py", "import experience.apps"),
    "the uploads import the sink": ("experience/ingest/bodies.py", "import experience.sink"),
    "a model imports a service": ("matches/models/agent.py", "import matches.ledger.relay"),
    "a service imports a task": ("matches/ledger/relay.py", "import matches.tasks"),
    "a type is imported upward": (
        "matches/models/agent.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import matches.ledger.relay",
    ),
}


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    command = [str(TOOLS / "lint-imports"), "--no-logo", "--no-cache"]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("tree")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def test_the_contracts_hold(tree: Path) -> None:
    done = lint_imports(tree)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("violation", PLANTED)
def test_the_contracts_catch_a_planted_violation(tree: Path, violation: str) -> None:
    name, line = PLANTED[violation]
    module = tree / name
    clean = module.read_text()
    try:
        module.write_text(f"{clean}\n{line}\n")
        done = lint_imports(tree)
    finally:
        module.write_text(clean)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout


def test_every_task_that_is_sent_by_name_is_registered() -> None:
    app.loader.import_default_modules()
    ours = {name for name in app.tasks if name.startswith(("matches.", "experience."))}
    assert {*dispatch.NAMES, EXPERIENCE_ALIVE_TASK, EXPERIENCE_RECORD_TASK} == ours


def test_the_task_of_a_match_order_is_the_one_that_play_nodes_register() -> None:
    assert play_tasks.play.name == PLAY_TASK


def test_the_tasks_of_gpu_workers_are_the_ones_that_are_sent() -> None:
    assert {gpu_tasks.drain.name, gpu_tasks.check.name} == {DRAIN_TASK, CHECK_TASK}


def test_the_clock_ticks_a_task_that_exists() -> None:
    app.loader.import_default_modules()
    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert scheduled <= set(app.tasks)
