"""`evalsite models`: what runs have published is listed, shown, and loaded whole or not at all."""

from pathlib import Path
from typing import Any

import pytest

from evalsite_client.models import Models
from evalsite_client.retries import Clock
from evalsite_client.tests.commands import Evalsite, as_json, ok
from experience.models import Release, TrainingRun
from experience.runs import files
from experience.tests import made, trained_runs
from matches.models import Agent, Leaderboard, Rating
from matches.store.clock import db_now

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _own_files(settings: Any, tmp_path: Path) -> None:
    backend = "django.core.files.storage.FileSystemStorage"
    options = {"BACKEND": backend, "OPTIONS": {"location": str(tmp_path / "stored")}}
    settings.STORAGES = {**settings.STORAGES, "training": options}


@pytest.fixture
def run() -> TrainingRun:
    """Return a run that has published three versions."""
    run = trained_runs.make_run(now=db_now())
    for version, state in enumerate(("released", "retired", "snapshot")):
        content = f"weights {version}".encode()
        digest = made.put(run, content)
        made.published(run, version, state, sha256=digest, n_bytes=len(content))
    TrainingRun.objects.update(version=2)
    return run


def test_models_are_listed_and_shown(evalsite: Evalsite, run: TrainingRun) -> None:
    head, line = ok(evalsite("models", "list", "--game", "cart_pole")).splitlines()
    assert head.split()[:2] == ["run", "game"]
    assert line.split()[:2] == ["poles", "cart_pole"]
    assert ok(evalsite("models", "--game", "chess")) == ok(
        evalsite("models", "list", "--game", "chess")
    )
    output = ok(evalsite("models", "show", "poles"))
    assert [line.split()[:2] for line in output.splitlines()[-3:]] == [
        ["2", "snapshot"],
        ["1", "retired"],
        ["0", "released"],
    ]
    assert as_json(evalsite("models", "show", "poles", "--json"))["model"]["released_version"] == 0


def test_a_version_is_loaded_whole(
    evalsite: Evalsite, run: TrainingRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = ok(evalsite("models", "download", "poles"))
    assert output.startswith("poles-2.safetensors: version 2 of poles (snapshot), 9 bytes")
    assert (tmp_path / "poles-2.safetensors").read_bytes() == b"weights 2"
    ok(evalsite("models", "download", "poles", "--released", "--out", "a"))
    ok(evalsite("models", "download", "poles", "--version", 0, "--out", "b"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"weights 0"
    assert not list(tmp_path.glob(".*"))
    assert Release.objects.get(version=0).n_downloads == 2


def test_the_best_is_that_of_the_highest_rating_on_the_board_of_the_run(
    evalsite: Evalsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = trained_runs.make_run(now=db_now())
    trained_runs.teach(run, 100, now=db_now())
    status, _, err = evalsite("models", "download", "poles", "--best")
    assert (status, "no version of run poles that can be loaded is rated" in err) == (2, True)
    board = trained_runs.judge(run, now=db_now())
    third = Release.objects.get(version=38)
    Release.objects.filter(pk=third.pk).update(sha256=made.put(run, b"x"), n_bytes=1)
    Rating.objects.filter(agent=third.agent).update(mu=50.0)
    # Elsewhere another one is higher, and what was withdrawn is not offered.
    elsewhere = Leaderboard.objects.create(name="elsewhere", game=run.game)
    last = Agent.objects.latest("pk")
    Rating.objects.create(leaderboard=elsewhere, agent=last, mu=90.0, n_matches=9)
    retired = Release.objects.get(state="retired")
    Rating.objects.filter(leaderboard=board, agent=retired.agent).update(mu=70.0)
    output = ok(evalsite("models", "download", "poles", "--best"))
    assert output.startswith("poles-38.safetensors: version 38 of poles (released), 1 bytes")


def test_a_file_that_is_there_stays_unless_it_is_forced(
    evalsite: Evalsite, run: TrainingRun, tmp_path: Path
) -> None:
    (file := tmp_path / "mine").write_text("mine")
    status, _, err = evalsite("models", "download", "poles", "--out", file)
    assert (status, file.read_text()) == (2, "mine")
    assert "is there already: --force replaces it" in err
    ok(evalsite("models", "download", "poles", "--out", file, "--force"))
    status, _, err = evalsite("models", "download", "poles", "--out", file.parent, "--force")
    assert (status, "is a folder: name a file in it" in err) == (2, True)
    assert file.read_bytes() == b"weights 2"


def test_a_file_that_comes_meanwhile_stays_too(
    evalsite: Evalsite, run: TrainingRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine"
    fetch = Models.fetch_weights

    def fetch_slowly(self: Models, version: Any) -> bytes:
        file.write_text("mine")
        return fetch(self, version)

    monkeypatch.setattr(Models, "fetch_weights", fetch_slowly)
    status, _, err = evalsite("models", "download", "poles", "--out", file)
    assert (status, file.read_text()) == (2, "mine")
    assert "has come meanwhile" in err
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["mine"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nobody",), "there is no model nobody: `evalsite models` lists them"),
        (("poles", "--version", 9), "version: run poles has no version 9"),
        (("poles", "--version", 1), "version 1 of run poles has no file any more"),
        (("poles", "--out", "nowhere/file"), "there is no folder"),
    ],
)
def test_what_cannot_be_loaded_is_refused_with_2(
    evalsite: Evalsite, run: TrainingRun, words: tuple[Any, ...], says: str
) -> None:
    status, _, err = evalsite("models", "download", *words)
    assert status == 2
    assert says in err


def test_wrong_content_is_never_written(
    evalsite: Evalsite, run: TrainingRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsite_client.client.Clock", lambda: Clock(sleep=lambda _: None))
    stored = tmp_path / "stored" / files.name_file("poles", Release.objects.get(version=2).sha256)
    stored.write_bytes(b"weights X")
    status, _, err = evalsite("models", "download", "poles", "--out", tmp_path / "file")
    assert status == 2
    assert "version 2 of run poles came as 9 bytes with the SHA-256" in err
    assert not (tmp_path / "file").exists()
