"""Real networks, computed in the head, asked over HTTP; those on the gpu queue: test_real_head."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.agent_passes import AskedAgent, make_agent_pass
from arena.messages import AgentOrder
from arena.policies.network_policy import NetworkOutput
from arena.policies.sampling import choose_greedy, sample_actions, seed_uniforms
from gameservers.head.bucket import BucketError, open_bucket
from gameservers.head.settings import HeadSettings
from gameservers.head.tests.running import PASS_KEY, Running, running_head, wait_until
from inference.client import CheckpointRef, open_local
from inference.tests.sealed import BOARD, N_ACTIONS, Folder

FOR_EVER = 4_000_000_000
N_ROWS = 24


def token_of(ref: CheckpointRef, *, policy: str = "network", **parameters: float) -> str:
    plays = AgentOrder(policy, dict(parameters), ref.checkpoint, "local", ref.source)
    agent = AskedAgent(7, "ppo@1", "connect_four", list(BOARD), N_ACTIONS, plays)
    return make_agent_pass(PASS_KEY, agent, until=FOR_EVER)


def drawn_rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    observations = rng.normal(size=(N_ROWS, *BOARD)).astype(np.float32)
    masks = rng.random((N_ROWS, N_ACTIONS)) < 0.6
    masks[:, 3] = True
    return observations, masks, rng.integers(0, 1 << 63, N_ROWS, np.uint64)


def expect_output(own: HeadSettings, ref: CheckpointRef) -> NetworkOutput:
    return open_local(own.inference).infer(ref, drawn_rows()[0])


def post(head: Running, body: dict[str, Any], token: str = "") -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    status, answer = head.call("/evaluate", json.dumps(body).encode(), headers=headers)
    return status, json.loads(answer)


def as_json(rows: slice = slice(None)) -> dict[str, Any]:
    observations, masks, seeds = drawn_rows()
    legal = [np.flatnonzero(mask).tolist() for mask in masks[rows]]
    body = {"observations": observations[rows].tolist(), "legal": legal}
    return {**body, "seeds": seeds[rows].tolist()}


def as_binary() -> bytes:
    observations, masks, seeds = drawn_rows()
    header = json.dumps({"rows": N_ROWS, "has_seeds": True}).encode()
    arrays: bytes = observations.tobytes() + masks.astype(np.uint8).tobytes() + seeds.tobytes()
    return header + b"\n" + arrays


def test_the_actions_are_those_that_a_match_would_play(
    head: Running, own: HeadSettings, ref: CheckpointRef
) -> None:
    output, (_, masks, seeds) = expect_output(own, ref), drawn_rows()
    status, best = post(head, as_json(), token_of(ref))
    assert status == 200
    assert best["actions"] == choose_greedy(output.logits, masks).tolist()
    assert best["values"] == pytest.approx(output.values.tolist())
    drawn = sample_actions(output.logits, masks, seed_uniforms(seeds), temperature=2.0).tolist()
    for _ in range(2):
        assert post(head, as_json(), token_of(ref, temperature=2.0))[1]["actions"] == drawn
    assert drawn != best["actions"]


def test_bytes_get_bytes(head: Running, own: HeadSettings, ref: CheckpointRef) -> None:
    headers = {
        "Authorization": f"Bearer {token_of(ref)}",
        "Content-Type": "application/octet-stream",
    }
    status, answer = head.call("/evaluate", as_binary(), headers=headers)
    line, arrays = answer.split(b"\n", 1)
    summary, output = json.loads(line), expect_output(own, ref)
    assert (status, summary["rows"], summary["agent"]) == (200, N_ROWS, "ppo@1")
    actions = np.frombuffer(arrays, np.int32, N_ROWS)
    assert actions.tolist() == choose_greedy(output.logits, drawn_rows()[1]).tolist()
    assert np.frombuffer(arrays, np.float32, N_ROWS, 4 * N_ROWS) == pytest.approx(output.values)
    assert len(arrays) == 8 * N_ROWS


def test_callers_at_the_same_time_share_forwards_and_get_the_same_actions(
    head: Running, own: HeadSettings, ref: CheckpointRef
) -> None:
    expected = choose_greedy(expect_output(own, ref).logits, drawn_rows()[1]).tolist()
    before = head.head.stats.n_batches
    with ThreadPoolExecutor(32) as callers:
        futures = [
            callers.submit(post, head, as_json(slice(n % N_ROWS, n % N_ROWS + 1)), token_of(ref))
            for n in range(96)
        ]
        answers = [one.result()[1]["actions"][0] for one in futures]
    assert answers == [expected[n % N_ROWS] for n in range(96)]
    assert head.head.stats.n_batches - before < 96


@pytest.mark.parametrize(
    ("token", "status", "reason"),
    [
        ("agent:abc.1.00", 403, "was not made here"),
        ("sim-1.4000000000.00", 403, "was not made here"),
        ("", 400, "agent: missing"),
    ],
)
def test_without_a_good_pass_nobody_decides(
    head: Running, token: str, status: int, reason: str
) -> None:
    got, answer = post(head, as_json(), token)
    assert (got, reason in answer["detail"]) == (status, True)


def test_what_cannot_be_decided_says_why(head: Running, ref: CheckpointRef, folder: Folder) -> None:
    def refuse(token: str, **changes: Any) -> tuple[int, str]:
        status, answer = post(head, {**as_json(), **changes}, token)
        return status, str(answer["detail"])

    status, detail = refuse(token_of(ref, policy="mcts"))
    assert (status, "decides on positions" in detail) == (400, True)
    status, detail = refuse(token_of(ref, temperature=1.0), seeds=None)
    assert (status, detail.startswith("seeds: missing")) == (400, True)
    status, detail = refuse(token_of(CheckpointRef("e" * 64, f"/files/checkpoints/{'e' * 64}")))
    assert (status, "no web server is set" in detail) == (503, True)
    broken = folder.add("mlp", {"hidden": "16"}, seed=2, scale=1e30)
    status, detail = refuse(token_of(broken))
    assert (status, "network of this agent" in detail) == (422, True)
    far = AgentOrder("network", {}, ref.checkpoint, "gpu", ref.source)
    agent = AskedAgent(7, "ppo@1", "connect_four", list(BOARD), N_ACTIONS, far)
    status, detail = refuse(make_agent_pass(PASS_KEY, agent, until=FOR_EVER))
    assert (status, "no gpu worker can be asked" in detail) == (503, True)
    assert head.call("/evaluate", bytes(17 << 20))[0] == 413


@pytest.fixture
def bucket(tmp_path: Path, folder: Folder, ref: CheckpointRef) -> Path:
    path = tmp_path / "bucket"
    path.mkdir()
    file = path / "step_1000.safetensors"
    file.write_bytes((folder.store.folder / f"{ref.checkpoint}.safetensors").read_bytes())
    os.utime(file, (1, 1))
    return path


def test_a_checkpoint_of_the_bucket_is_asked_by_name_and_watched(
    bucket: Path, own: HeadSettings, ref: CheckpointRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gameservers.head.bucket.EVERY_S", 0.05)
    opened = open_bucket(str(bucket), own.inference.cache)
    with running_head(replace(own), bucket=opened) as head:
        wait_until(lambda: "step_1000" in opened.players, "it is loaded")
        status, answer = post(head, {**as_json(), "agent": "step_1000"})
        output = expect_output(own, ref)
        assert answer["actions"] == choose_greedy(output.logits, drawn_rows()[1]).tolist()
        status, answer = post(head, {**as_json(), "agent": "step_2000"})
        assert (status, "there are step_1000" in answer["detail"]) == (404, True)
        (bucket / "step_1000.safetensors").rename(bucket / "step_2000.safetensors")
        wait_until(lambda: list(opened.players) == ["step_2000"], "the new one is loaded")
        (bucket / "bad.safetensors").write_bytes(b"nothing")
        os.utime(bucket / "bad.safetensors", (1, 1))
        wait_until(lambda: "bad.safetensors" in opened.problems, "the bad one is told")


def test_a_bucket_that_cannot_be_used_names_the_file_and_what_to_do(
    bucket: Path, tmp_path: Path
) -> None:
    def refusal(text: str) -> str:
        with pytest.raises(BucketError) as refused:
            open_bucket(text, tmp_path)
        return str(refused.value)

    assert "Mount the bucket" in refusal("s3://runs/ppo")
    assert "no such folder" in refusal(str(tmp_path / "nowhere"))
    (empty := tmp_path / "empty").mkdir()
    assert "holds no *.safetensors" in refusal(str(empty))
    marker = tmp_path / "unpickled"
    (bucket / "model.pt").write_bytes(b"cos\nsystem\n(S'touch %s'\ntR." % str(marker).encode())
    assert f"{bucket / 'model.pt'} may be a pickle" in refusal(str(bucket))
    (bucket / "model.pt").rename(bucket / "model.safetensors")
    assert f"{bucket / 'model.safetensors'}" in refusal(str(bucket))
    assert not marker.exists()
