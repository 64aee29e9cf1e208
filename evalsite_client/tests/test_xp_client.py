"""`evalsite xp-client`: against the real views, as a process that is stopped, with numpy alone."""

import json
import signal
import subprocess
import sys
import threading
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from redis import Redis
from requests import Response

from arena.experience.chunks import Chunk
from arena.experience.tests.made import SPEC
from arena.experience.wire import read_chunk
from evalsite_client.cli import xp_client
from evalsite_client.experience import environments
from evalsite_client.experience.tests.made import make_weights
from evalsite_client.experience.tests.platform import Platform, serve
from evalsite_client.tests.commands import Evalsite, as_json, ok
from evalsite_client.tests.fakes import Seen
from experience.models import Release, TrainingRun
from experience.tests import made

PLAY = ("xp-client", "--env", "CartPole-v1", "--run", "poles")


@pytest.fixture
def run(broker: Redis, valkey_url: str, settings: Any, tmp_path: Path) -> TrainingRun:
    """Return a run in training; its files lie apart, its stream is empty."""
    settings.STREAM_REDIS_URL = valkey_url
    broker.function_flush("SYNC")
    backend = "django.core.files.storage.FileSystemStorage"
    shelf = {"BACKEND": backend, "OPTIONS": {"location": str(tmp_path / "training")}}
    settings.STORAGES = {**settings.STORAGES, "training": shelf}
    return made.begun()


def _publish(run: TrainingRun, version: int, content: bytes) -> None:
    digest = sha256(content).hexdigest()
    release = Release.objects.create(
        run=run,
        version=version,
        sha256=digest,
        n_bytes=len(content),
        n_steps=0,
        architecture="mlp",
        parameters={"hidden": "16"},
        created_at=made.NOW,
    )
    storages["training"].save(release.path, ContentFile(content))
    TrainingRun.objects.filter(pk=run.pk).update(version=version)


def _read_stream(broker: Redis) -> list[Chunk]:
    entries: Any = broker.xrange("xp:{cart_pole}")
    return [read_chunk(entry[b"chunk"], spec=SPEC) for _, entry in entries]


@pytest.mark.django_db(transaction=True)
def test_the_server_keeps_what_was_played(
    evalsite: Evalsite, run: TrainingRun, broker: Redis, tmp_path: Path
) -> None:
    _publish(run, 0, make_weights(tmp_path))
    summary = as_json(evalsite(*PLAY, "--episodes", 30, "--seed", 5, "--json"))
    chunks = _read_stream(broker)
    assert (summary["run"], summary["game"], summary["version"]) == ("poles", "cart_pole", 0)
    assert summary["n_episodes"] == 30
    assert summary["n_steps"] == summary["n_sent"] == sum(map(len, chunks))
    assert summary["n_chunks"] == len(chunks)
    assert summary["mean_return"] == pytest.approx(summary["n_steps"] / 30)
    # CartPole itself: the true successor of the last step, which is out of bounds.
    ended = np.concatenate([chunk.terminated for chunk in chunks])
    last = np.concatenate([chunk.next_observations for chunk in chunks])[ended]
    assert len(last) == 30
    assert ((abs(last[:, 0]) > 2.4) | (abs(last[:, 2]) > 0.209)).all()
    assert Release.objects.get().n_downloads == 1


@pytest.mark.django_db(transaction=True)
def test_a_later_version_of_the_run_is_played(
    evalsite: Evalsite, run: TrainingRun, broker: Redis, tmp_path: Path
) -> None:
    _publish(run, 0, make_weights(tmp_path))
    ok(evalsite(*PLAY, "--episodes", 2))
    _publish(run, 1, make_weights(tmp_path, seed=2))
    ok(evalsite(*PLAY, "--episodes", 2))
    assert {chunk.policy_version for chunk in _read_stream(broker)} == {0, 1}


@pytest.mark.django_db(transaction=True)
def test_a_run_without_a_version_is_waited_for_and_then_given_up(
    evalsite: Evalsite, run: TrainingRun
) -> None:
    status, out, err = evalsite(*PLAY, "--episodes", 2, "--wait", "0.1")
    assert (status, out) == (1, "")
    assert "evalsite: waits for the first version of run poles\n" in err
    assert "run poles has no version after 0.1 s" in err


@pytest.mark.django_db(transaction=True)
def test_without_a_token_nothing_is_kept_and_that_is_said(
    evalsite: Evalsite, run: TrainingRun, broker: Redis, tmp_path: Path
) -> None:
    _publish(run, 0, make_weights(tmp_path))
    status, _, err = evalsite(*PLAY, "--episodes", 2, "--token", "")
    assert status == 2
    assert "steps were not sent" in err
    assert "EVALSITE_TOKEN or --token logs in" in err
    assert _read_stream(broker) == []


def test_an_environment_is_found_by_its_game_too() -> None:
    assert environments.find_environment("cart_pole") == "CartPole-v1"
    assert environments.find_environment("CartPole-v1") == "CartPole-v1"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        (("--env", "Pendulum-v1"), "env: 'Pendulum-v1' is no game here: Acrobot-v1, CartPole-v1"),
        (("--episodes", "0"), "'0' is no whole number from 1"),
        (("--upload-every", "0"), "'0' is no whole number from 1"),
        (("--run", "nosuch"), "run: there is no training run 'nosuch': `evalsite runs` lists them"),
        (("--run", "four"), "run: 'four' plays connect_four, not cart_pole"),
    ],
    ids=range(5),
)
def test_bad_options_are_refused(
    options: tuple[str, ...], refusal: str, evalsite: Evalsite, run: TrainingRun
) -> None:
    made.begun("four", "connect_four", algorithm="ppo_selfplay")
    status, _, err = evalsite(*PLAY, "--episodes", "2", "--wait", "0.1", *options)
    assert status == 2
    assert refusal in err
    assert "waits for" not in err


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("package", "refusal"),
    [
        ("numpy", "numpy: is not installed here: pip install 'CLONE[xp]'"),
        ("gymnasium", "env: CartPole-v1 needs gymnasium: pip install gymnasium"),
    ],
)
def test_a_package_that_is_missing_is_named(
    package: str, refusal: str, evalsite: Evalsite, monkeypatch: pytest.MonkeyPatch
) -> None:
    wherever = environments if package == "gymnasium" else xp_client
    monkeypatch.setattr(wherever, "find_spec", lambda name: None)
    status, _, err = evalsite(*PLAY, "--episodes", "2")
    assert (status, err) == (2, f"evalsite: {refusal}\n")


ALONE = """
import sys

class Blocker:
    @staticmethod
    def find_spec(name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in ALLOWED and top not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"{top} is blocked", name=top)

sys.meta_path.insert(0, Blocker)
import numpy as np
from evalsite_client.cli.main import main
from evalsite_client.experience import command
from evalsite_client.experience.environments import Outcome

class Walk:
    def reset(self, *, seed):
        self.place = 0
        return np.zeros(4, np.float32)

    def step(self, action):
        self.place += 1
        return Outcome(np.full(4, self.place, np.float32), 1.0, self.place == 50, False)

command.make_environment = lambda env_id, game: Walk()
sys.exit(main(sys.argv[1:]))
"""
ALLOWED = {
    *("evalsite_client", "numpy", "requests", "urllib3", "certifi", "idna", "charset_normalizer"),
    *("sitecustomize", "usercustomize"),
}


def _start(*program: str, address: str, n_episodes: int) -> "subprocess.Popen[str]":
    options = ("--episodes", str(n_episodes), "--url", address, "--token", "t", "--json")
    return subprocess.Popen(
        [sys.executable, *program, *PLAY, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_numpy_and_requests_are_all_that_it_needs(tmp_path: Path) -> None:
    platform = Platform([make_weights(tmp_path)], publish_after={2: make_weights(tmp_path, seed=2)})
    # What is installed for tests is blocked: torch, gymnasium, msgpack, msgspec, scipy, arena ...
    code = ALONE.replace("ALLOWED", repr(ALLOWED))
    with serve(platform) as address:
        child = _start("-c", code, address=address, n_episodes=12)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert json.loads(out)["n_sent"] == 600
    assert sum(map(len, platform.chunks)) == 600
    assert {chunk.policy_version for chunk in platform.chunks} == {0, 1}
    assert "12/12 episodes, 600 steps, return 50.0, version 1, 600 sent" in err


class _CountingPlatform(Platform):
    """Says when it has got some chunks."""

    def __call__(self, request: Seen) -> Response:
        response = super().__call__(request)
        if len(self.chunks) == 3:
            self.has_some.set()
        return response

    has_some = threading.Event()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_all_that_is_whole_sent(number: int, tmp_path: Path) -> None:
    platform = _CountingPlatform([make_weights(tmp_path)])
    platform.has_some = threading.Event()
    with serve(platform) as address:
        child = _start("-m", "evalsite_client", address=address, n_episodes=1_000_000)
        try:
            assert platform.has_some.wait(60)
            child.send_signal(number)
            out, err = child.communicate(timeout=60)
        finally:
            child.kill()
    assert child.returncode == 130, err
    assert err.endswith("evalsite: stopped: what was whole is sent\n")
    summary = json.loads(out)
    assert summary["n_sent"] == sum(map(len, platform.chunks))
    # Of the episode that was cut off nothing is left out, unless it is shorter than is taken.
    assert summary["n_steps"] - summary["n_sent"] < 16
    for before, chunk in pairwise(platform.chunks):
        is_next = chunk.episodes[0] == before.episodes[-1] + 1 and chunk.steps[0] == 0
        goes_on = chunk.episodes[0] == before.episodes[-1]
        assert is_next or (goes_on and chunk.steps[0] == before.steps[-1] + 1)
