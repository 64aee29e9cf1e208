"""Against a stand-in that streams at set speeds: no real model is asked here."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from llmserve_env import LLMServeEnv, ServeAction
from llmserve_env.errors import UnavailableError
from llmserve_env.real import SIMULATED, RealEpisode, RealSettings, read_real_settings
from llmserve_env.simulator.settings import FIRST
from llmserve_env.simulator.workload import N_WINDOWS
from server.app import build_app
from server.environment import LLMServeEnvironment
from tests.serving import serving
from tests.stub_model import KEY, StubModel

ROOT = Path(__file__).resolve().parent.parent
REAL = {"LLMSERVE_MODE": "real", "OPENAI_API_KEY": KEY}


@pytest.fixture
def environment(stub: StubModel, monkeypatch: pytest.MonkeyPatch) -> LLMServeEnvironment:
    monkeypatch.setenv("LLMSERVE_MODE", "real")
    return LLMServeEnvironment()


def test_times_are_those_of_the_stream(environment: LLMServeEnvironment, stub: StubModel) -> None:
    stub.first_s, stub.token_s, stub.n_tokens = 0.15, 0.02, 16
    environment.reset(task_id="adversarial_multitenant", seed=1)
    observation = environment.step(ServeAction(batch_cap=2))
    # A busy machine sleeps longer than it was told to: the stand-in notes when it sent what.
    sent_ms = sorted(1_000 * sent[0] for sent in stub.sent)
    assert sent_ms[0] >= 150
    assert sent_ms[0] <= observation.p50_ttft_ms <= observation.p99_ttft_ms < sent_ms[1] + 500
    paces_ms = [1_000 * (sent[-1] - sent[0]) / 15 for sent in stub.sent]
    assert min(paces_ms) >= 20
    assert observation.p50_itl_ms == pytest.approx(sum(paces_ms) / 2, abs=5)
    assert 0 < observation.throughput_tps <= 32 / max(sent[-1] for sent in stub.sent)
    assert (observation.active_requests, observation.slo_compliance_rate) == (2, 1.0)
    assert len(stub.requests) == 2


def test_answers_that_come_late_cost_compliance_and_reward(
    environment: LLMServeEnvironment, stub: StubModel
) -> None:
    environment.reset(task_id="adversarial_multitenant", seed=1)
    quick = environment.step(ServeAction(batch_cap=1))
    stub.first_s = 2.1  # the limit of who is patient is 2 s
    late = environment.step(ServeAction(batch_cap=1))
    assert (quick.slo_compliance_rate, late.slo_compliance_rate) == (1.0, 0.0)
    # 0.55 + 0.25 of it, and what the simulated tokens cost.
    assert quick.reward - late.reward == pytest.approx(0.8, abs=0.05)


def test_the_metadata_names_what_stays_simulated(
    environment: LLMServeEnvironment, stub: StubModel
) -> None:
    environment.reset()
    metadata = environment.step(ServeAction()).metadata
    assert metadata["simulated_fields"] == list(SIMULATED)
    assert {"kv_cache_occupancy", "gpu_memory_used_gb"} <= set(metadata["simulated_fields"])
    measured = {"p50_ttft_ms", "p99_ttft_ms", "p50_itl_ms", "throughput_tps"}
    assert not measured & set(SIMULATED)
    assert (metadata["mode"], metadata["comparable"]) == ("real", False)
    assert (metadata["n_requests"], metadata["n_failed"]) == (4, 0)


def test_requests_are_as_many_and_as_long_as_is_set(
    stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMSERVE_MODE", "real")
    monkeypatch.setenv("LLMSERVE_REAL_MODEL", "own")
    monkeypatch.setenv("LLMSERVE_REAL_MAX_REQUESTS_PER_STEP", "3")
    monkeypatch.setenv("LLMSERVE_REAL_MAX_PROMPT_TOKENS", "10")
    monkeypatch.setenv("LLMSERVE_REAL_MAX_COMPLETION_TOKENS", "5")
    environment = LLMServeEnvironment()
    environment.reset(task_id="bursty_workload")
    environment.step(ServeAction(batch_cap=512))
    assert len(stub.requests) == 3
    environment.step(ServeAction(batch_cap=1))
    assert len(stub.requests) == 4
    body = stub.requests[0]
    assert (body["model"], body["max_completion_tokens"], body["stream"]) == ("own", 5, True)
    assert body["messages"][0]["content"].count(" more") == 10


@pytest.mark.parametrize("seed", range(2))
def test_what_fails_counts_with_the_weight_of_its_class(
    stub: StubModel, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("LLMSERVE_MODE", "real")
    usual = read_real_settings()
    assert usual is not None
    # So many that some are of the dearer class.
    settings = replace(usual, max_requests=FIRST.batch_cap)
    all_answered = RealEpisode(settings, "bursty_workload", seed).run_window(FIRST)
    stub.status = lambda number: 200 if number == FIRST.batch_cap else 429
    one_answered = RealEpisode(settings, "bursty_workload", seed).run_window(FIRST)
    assert one_answered.offered == all_answered.offered > FIRST.batch_cap
    assert one_answered.dropped + one_answered.in_time == one_answered.offered


def test_what_fails_counts_as_dropped_and_all_of_it_is_an_error(
    environment: LLMServeEnvironment, stub: StubModel
) -> None:
    environment.reset(task_id="static_workload")
    stub.status = lambda number: 429 if number == 0 else 200
    observation = environment.step(ServeAction())
    assert observation.metadata["n_failed"] == 1
    assert observation.slo_compliance_rate <= 0.75
    stub.status = lambda number: 401
    with pytest.raises(UnavailableError, match="answered none of 4 requests") as error:
        environment.step(ServeAction())
    assert KEY not in str(error.value)
    # The window has not run: the next try is for the same one.
    assert environment.state.step_count == 1
    stub.status = lambda number: 200
    assert environment.step(ServeAction()).step_index == 2
    stub.n_tokens = 0
    with pytest.raises(UnavailableError, match="without a token"):
        environment.step(ServeAction())


def test_a_stream_that_is_none_is_a_request_that_failed(
    environment: LLMServeEnvironment, stub: StubModel
) -> None:
    stub.body = b"data: no JSON\n\n"
    environment.reset()
    with pytest.raises(UnavailableError, match="answered none of 1 requests: JSONDecodeError"):
        environment.step(ServeAction(batch_cap=1))


TOKEN = '{"choices":[{"index":0,"delta":{"content":"word"}}]}'
NESTED = "[" * 100_000


@pytest.mark.parametrize(
    "chunk", ["5", '{"choices":5}', '{"choices":[{"index":0}]}', '{"choices":[5]}', NESTED]
)
def test_a_stream_that_is_no_answer_is_a_failure(
    environment: LLMServeEnvironment, stub: StubModel, chunk: str
) -> None:
    environment.reset()
    stub.body = f"data: {chunk}\n\n".encode()
    with pytest.raises(UnavailableError, match="answered none of 1 requests"):
        environment.step(ServeAction(batch_cap=1))


@pytest.mark.parametrize(
    "usage", ["5", "{}", '{"completion_tokens":"9"}', '{"completion_tokens":1e400}']
)
def test_tokens_are_counted_where_the_server_does_not(
    environment: LLMServeEnvironment, stub: StubModel, usage: str
) -> None:
    environment.reset()
    stub.body = f'data: {TOKEN}\n\ndata: {{"choices":[],"usage":{usage}}}\n\n'.encode()
    observation = environment.step(ServeAction(batch_cap=1))
    assert observation.p50_itl_ms == 0
    assert 0 < observation.throughput_tps < 1 / observation.p50_ttft_ms * 1_000


def test_a_stream_that_does_not_end_is_left_at_the_limit(stub: StubModel) -> None:
    stub.token_s, stub.n_tokens = 0.05, 10_000
    settings = RealSettings("m", KEY, max_requests=1, timeout_s=0.3)
    episode = RealEpisode(settings, "static_workload", 1)
    began = time.monotonic()
    episode.run_window(FIRST)
    # All of it would take 500 s.
    assert 0.3 < time.monotonic() - began < 60
    assert episode.sight.p50_itl_ms >= 50


def test_over_the_wire_an_episode_is_graded_by_what_was_measured(
    stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMSERVE_MODE", "real")
    monkeypatch.setenv("LLMSERVE_REAL_MAX_REQUESTS_PER_STEP", "1")
    with serving(build_app()) as url, LLMServeEnv.from_url(url) as env:
        observation = env.reset(task_id="static_workload", seed=3)
        while not observation.done:
            observation, _, _, info = env.step({"quantization_tier": "INT8"})
        grade = env.grade()
        assert (info["mode"], info["score"]) == ("real", grade["score"])
        assert (grade["mode"], grade["comparable"]) == ("real", False)
        assert len(stub.requests) == N_WINDOWS
        headers = {"X-Session-Id": "failing"}
        requests.post(f"{url}/reset", headers=headers, timeout=30)
        stub.status = lambda number: 500
        body = {"action": {}}
        response = requests.post(f"{url}/step", json=body, headers=headers, timeout=30)
    assert response.status_code == 503
    assert "InternalServerError (HTTP 500)" in response.json()["detail"]
    assert KEY not in response.text


def test_without_settings_nothing_is_asked() -> None:
    assert read_real_settings({}) is None
    assert read_real_settings({"LLMSERVE_MODE": "sim", "LLMSERVE_REAL_PROVIDER": "x"}) is None


def test_the_key_is_not_in_what_is_printed_of_the_settings() -> None:
    settings = read_real_settings({**REAL, "LLMSERVE_REAL_MODEL": "m"})
    assert settings == RealSettings("m", KEY)
    assert KEY not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LLMSERVE_MODE", "really"),
        ("LLMSERVE_REAL_PROVIDER", "other"),
        ("OPENAI_API_KEY", " "),
        ("LLMSERVE_REAL_MAX_REQUESTS_PER_STEP", "0"),
        ("LLMSERVE_REAL_MAX_REQUESTS_PER_STEP", "65"),
        ("LLMSERVE_REAL_MAX_PROMPT_TOKENS", "many"),
        ("LLMSERVE_REAL_MAX_COMPLETION_TOKENS", "-1"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(UnavailableError, match=name):
        read_real_settings({**REAL, name: value})


@pytest.mark.slow
@pytest.mark.parametrize("port", ["x", "0", "65536", "9" * 500])
def test_the_server_names_a_port_that_is_none(port: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "server.app"],
        cwd=ROOT,
        env={**os.environ, "PORT": port},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("llmserve: PORT must be 1..65535: '")


@pytest.mark.slow
def test_the_server_does_not_start_without_a_key() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    done = subprocess.run(
        [sys.executable, "-m", "uvicorn", "server.app:app", "--port", "0"],
        cwd=ROOT,
        env={**environment, "LLMSERVE_MODE": "real"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "llmserve: OPENAI_API_KEY is not set: a real model cannot be asked without it"
    )
