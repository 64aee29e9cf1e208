import json
import threading
from pathlib import Path

import pytest
import requests
from websockets.sync.server import ServerConnection, serve

from llmserve_env.errors import UnavailableError
from llmserve_env.llm_policy import LanguageModelPolicy, parse_action
from llmserve_env.models import FIRST_ACTION, ServeAction, ServeObservation
from llmserve_env.simulator.workload import TASKS
from server.app import build_app
from server.baseline_inference import main
from server.baselines import make_player, play_episode, run_deterministic
from tests.serving import serving
from tests.stub_model import ACTION, KEY, StubModel


def read_scores(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    scores: dict[str, object] = json.loads(capsys.readouterr().out)
    return scores


def test_the_rules_score_the_same_in_process_over_http_and_by_the_route(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--mode", "deterministic"]) == 0
    in_process = read_scores(capsys)
    assert main(["--runtime", "http", "--base-url", url]) == 0
    over_http = read_scores(capsys)
    by_route = requests.get(f"{url}/baseline", timeout=60).json()
    assert in_process["scores"] == over_http["scores"] == by_route["scores"]
    assert list(by_route["scores"]) == list(TASKS)
    assert (by_route["mode"], by_route["seed"]) == ("deterministic", 42)
    assert all(0 < score < 1 for score in by_route["scores"].values())


def test_another_seed_is_another_score_and_a_wrong_one_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--seed", "7"]) == 0
    assert read_scores(capsys)["scores"] != run_deterministic(make_player(None))["scores"]
    assert main(["--seed", "-1"]) == 2
    assert "seed: must be a whole number" in capsys.readouterr().err


def test_a_model_is_asked_once_a_window_and_its_scores_are_written(
    stub: StubModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "artifacts" / "scores.json"
    assert main(["--mode", "openai", "--model", "m", "--output", str(output)]) == 0
    scores = read_scores(capsys)
    assert json.loads(output.read_text()) == scores
    assert (scores["mode"], scores["model"], scores["invalid_actions"]) == ("openai", "m", 0)
    assert len(stub.requests) == 270
    first = stub.requests[0]
    assert (first["model"], first["temperature"]) == ("m", 0)
    assert first["response_format"] == {"type": "json_object"}
    assert '"queue_depth": 0' in first["messages"][1]["content"]
    expected = play_episode(make_player(None), lambda _: ServeAction(**ACTION), "static_workload")
    assert scores["scores"]["static_workload"] == expected


@pytest.mark.slow
def test_a_model_plays_over_http_and_by_the_route_as_in_process(
    url: str, stub: StubModel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--mode", "openai", "--runtime", "http", "--base-url", url]) == 0
    over_http = read_scores(capsys)
    by_route = requests.get(f"{url}/baseline?use_openai=true", timeout=300).json()
    assert over_http["scores"] == by_route["scores"]
    assert len(stub.requests) == 540


@pytest.mark.parametrize(
    "text",
    ["", "no JSON", "[]", "null", '"x"', '{"batch_cap": 0}', '{"turbo": 1}', "[" * 9_999, '{"a":'],
)
def test_an_answer_that_is_no_action_is_none(text: str) -> None:
    assert parse_action(text) is None


def test_an_invalid_answer_repeats_the_last_valid_action_and_is_counted(stub: StubModel) -> None:
    answers = ["junk", json.dumps(ACTION), None, '{"batch_cap": 9999}', '{"batch_cap": 8}']
    stub.answer = lambda number: answers[number]
    policy = LanguageModelPolicy("m")
    chosen = [policy(ServeObservation()) for _ in answers]
    valid = ServeAction(**ACTION)
    assert chosen == [FIRST_ACTION, valid, valid, valid, ServeAction(batch_cap=8)]
    assert policy.n_invalid == 3


def test_a_failing_api_is_asked_three_more_times(stub: StubModel) -> None:
    stub.status = lambda number: 500 if number < 3 else 200
    assert LanguageModelPolicy("m")(ServeObservation()) == ServeAction(**ACTION)
    assert len(stub.requests) == 4


def test_a_slow_model_and_one_that_refuses_end_it_without_the_key(stub: StubModel) -> None:
    stub.delay_s = 0.5
    with pytest.raises(UnavailableError, match="APITimeoutError"):
        LanguageModelPolicy("m", timeout_s=0.1, retries=0)(ServeObservation())
    stub.delay_s, stub.status = 0.0, lambda number: 401
    with pytest.raises(UnavailableError) as error:
        LanguageModelPolicy("m")(ServeObservation())
    assert "AuthenticationError (HTTP 401)" in str(error.value)
    assert KEY not in str(error.value)


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"garbage", "JSONDecodeError"), (b"\xff\xfe", "JSONDecodeError"), (b"", "JSONDecodeError")],
)
def test_an_answer_of_the_api_that_is_no_json_ends_it(
    body: bytes, reason: str, stub: StubModel
) -> None:
    stub.body = body
    with pytest.raises(UnavailableError, match=f"the model m did not answer: {reason}"):
        LanguageModelPolicy("m")(ServeObservation())


@pytest.mark.parametrize(
    "body",
    [b"null", b"[]", b"{}", b'{"choices": 5}', b'{"choices": {"0": 1}}', b'{"choices": [{}, 1]}'],
)
def test_an_answer_of_the_api_without_a_text_is_an_invalid_one(
    body: bytes, stub: StubModel
) -> None:
    stub.body = body
    policy = LanguageModelPolicy("m")
    assert policy(ServeObservation()) == FIRST_ACTION
    assert policy.n_invalid == 1


@pytest.mark.parametrize("key", ["sk-\u00e9", "sk-a\nb"])
def test_what_can_be_no_key_is_refused_without_a_word_of_it(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(UnavailableError, match="OPENAI_API_KEY is no key") as error:
        LanguageModelPolicy("m")
    assert "sk-" not in str(error.value)


def test_the_route_says_why_it_cannot_ask_the_model(
    url: str, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    route = f"{url}/baseline?use_openai=true&model=m"
    stub.status = lambda number: 401
    refusal = requests.get(route, timeout=60)
    assert refusal.status_code == 503
    assert KEY not in refusal.text
    monkeypatch.delenv("OPENAI_API_KEY")
    missing = requests.get(route, timeout=60)
    assert (missing.status_code, "OPENAI_API_KEY is not set" in missing.text) == (503, True)


def test_the_model_plays_the_route_once_at_a_time(stub: StubModel) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    def wait(number: int) -> int:
        is_asked.set()
        may_answer.wait(30)
        return 401

    stub.status = wait
    with serving(build_app()) as url:
        route = f"{url}/baseline?use_openai=true"
        first = threading.Thread(target=requests.get, args=(route,), kwargs={"timeout": 60})
        first.start()
        assert is_asked.wait(30)
        second = requests.get(route, timeout=60)
        may_answer.set()
        first.join()
    assert (second.status_code, "asked already" in second.text) == (503, True)


def test_without_a_key_it_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--mode", "openai"]) == 2
    reason = "OPENAI_API_KEY is not set: a real model cannot be asked without it"
    assert capsys.readouterr().err == f"baseline_inference: {reason}\n"


def test_a_server_that_is_not_there_ends_it_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runtime", "http", "--base-url", "http://127.0.0.1:9"]) == 2
    assert "Failed to connect" in capsys.readouterr().err


def test_a_server_that_hangs_up_in_the_middle_ends_it_with_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def hang_up(connection: ServerConnection) -> None:
        connection.recv()
        connection.socket.close()

    with serve(hang_up, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        assert main(["--runtime", "http", "--base-url", address]) == 2
        server.shutdown()
        thread.join()
    assert "baseline_inference: no close frame received" in capsys.readouterr().err
