import json
import re
from typing import Any

import pytest
import requests

from llmserve_env.episode import Episode, write_log
from llmserve_env.models import ServeAction
from llmserve_env.simulator.workload import N_WINDOWS, TASKS
from server.app import build_app
from server.environment import LLMServeEnvironment
from server.routes import find_session
from server.sessions import SessionStore
from tests.serving import serving

SETTINGS = ServeAction(quantization_tier="INT8", kv_budget_fraction=0.6).to_settings()


def ask(method: str, url: str, body: Any = None, session: str = "") -> requests.Response:
    headers = {"X-Session-Id": session} if session else {}
    return requests.request(method, url, json=body, headers=headers, timeout=30)


def play(url: str, session: str, **reset: Any) -> dict[str, Any]:
    """Play an episode to its end; return the last answer."""
    answer = ask("POST", f"{url}/reset", reset, session).json()
    while not answer["done"]:
        action = ServeAction.from_settings(SETTINGS).model_dump(exclude={"metadata"})
        answer = ask("POST", f"{url}/step", {"action": action}, session).json()
    return answer


def make_log(task_id: str = "bursty_workload", seed: int = 7) -> tuple[dict[str, Any], float]:
    episode = Episode(task_id, seed)
    while not episode.is_over:
        episode.step(SETTINGS)
    return write_log(episode), episode.score()


def test_an_episode_is_kept_between_calls_and_graded_at_its_end(url: str) -> None:
    last = play(url, "whole", task_id="bursty_workload", seed=7)
    log, score = make_log()
    assert last["metadata"]["score"] == score
    assert last["reward"] == log["rewards"][-1]
    state = ask("GET", f"{url}/state", session="whole").json()
    assert (state["step_count"], state["done"], state["score"]) == (90, True, score)
    grade = ask("POST", f"{url}/grader", session="whole").json()
    named = {"task_id": "bursty_workload", "seed": 7, "mode": "sim", "comparable": True}
    assert grade == {"score": score, **named}


def test_two_sessions_do_not_mix(url: str) -> None:
    ask("POST", f"{url}/reset", {"seed": 1, "episode_id": "first"}, "one")
    ask("POST", f"{url}/reset", {"seed": 2, "episode_id": "second"}, "two")
    for _ in range(3):
        ask("POST", f"{url}/step", {"action": {}}, "one")
    ask("POST", f"{url}/step", {"action": {}}, "two")
    states = [ask("GET", f"{url}/state", session=name).json() for name in ("one", "two")]
    named = [(one["episode_id"], one["seed"], one["step_count"]) for one in states]
    assert named == [("first", 1, 3), ("second", 2, 1)]


@pytest.mark.parametrize(
    ("route", "body", "field"),
    [
        ("/reset", {"seed": -1}, "seed"),
        ("/reset", {"seed": 1.5}, "seed"),
        ("/reset", {"seed": True}, "seed"),
        ("/reset", {"seed": 2**63}, "seed"),
        ("/reset", {"seed": "7"}, "seed"),
        ("/reset", {"task_id": "static"}, "task_id"),
        ("/reset", {"task_id": 3}, "task_id"),
        ("/reset", {"episode_id": "x" * 256}, "episode_id"),
        ("/reset", {"difficulty": 1}, "difficulty"),
        ("/reset", [], ""),
        ("/step", None, ""),
        ("/step", {}, "action"),
        ("/step", {"action": []}, "action"),
        ("/step", {"action": {"batch_cap": 0}}, "action.batch_cap"),
        ("/step", {"action": {"batch_cap": 1.5}}, "action.batch_cap"),
        ("/step", {"action": {"prefill_decode_split": "true"}}, "action.prefill_decode_split"),
        ("/step", {"action": {"kv_budget_fraction": float("nan")}}, "action.kv_budget_fraction"),
        ("/step", {"action": {"kv_budget_fraction": float("inf")}}, "action.kv_budget_fraction"),
        ("/step", {"action": {"turbo": 1}}, "action.turbo"),
        ("/step", {"action": {"\ud800": 1}}, "action"),
        ("/step", {"action": {}, "timeout_s": 0}, "timeout_s"),
        ("/step", {"action": {}, "request_id": "x" * 256}, "request_id"),
        ("/grader", {"log": {}}, "log"),
        ("/grader", {"episode_log": {"task_id": "x"}}, "episode_log.seed"),
    ],
)
def test_a_wrong_field_is_named(url: str, route: str, body: Any, field: str) -> None:
    ask("POST", f"{url}/reset", {}, "wrong")
    # As text: a client may send what requests would refuse to write, as NaN.
    headers = {"X-Session-Id": "wrong", "Content-Type": "application/json"}
    content = json.dumps(body) if body is not None else None
    response = requests.post(f"{url}{route}", data=content, headers=headers, timeout=30)
    assert response.status_code == 422
    assert field in [one["field"] for one in response.json()["detail"]] or not field
    assert ask("GET", f"{url}/state", session="wrong").json()["step_count"] == 0


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[" * 100_000, b'{"seed": ' + b"9" * 5000])
def test_a_body_that_is_no_json_is_refused(url: str, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    response = requests.post(f"{url}/reset", data=content, headers=headers, timeout=30)
    assert response.status_code in (400, 422)


@pytest.mark.parametrize(
    ("method", "route"), [("GET", "/state"), ("POST", "/step"), ("POST", "/grader")]
)
def test_a_call_before_reset_is_a_conflict(url: str, method: str, route: str) -> None:
    body = {"action": {}} if route == "/step" else None
    response = ask(method, f"{url}{route}", body, "never-begun")
    assert response.status_code == 409
    assert "POST /reset begins one" in response.json()["detail"]


def test_a_step_after_the_end_and_a_grade_before_it_are_conflicts(url: str) -> None:
    ask("POST", f"{url}/reset", {}, "ends")
    response = ask("POST", f"{url}/grader", session="ends")
    assert (response.status_code, "0 of 90" in response.json()["detail"]) == (409, True)
    play(url, "ends")
    response = ask("POST", f"{url}/step", {"action": {}}, "ends")
    assert (response.status_code, "is over" in response.json()["detail"]) == (409, True)


@pytest.mark.parametrize("name", ["", "a b", "x" * 129, "ü"])
def test_a_session_has_a_plain_short_name(url: str, name: str) -> None:
    headers = {"X-Session-Id": name.encode()}
    response = requests.post(f"{url}/reset", headers=headers, timeout=30)
    assert response.status_code == 422
    assert response.json()["detail"][0]["field"] == "X-Session-Id"


def test_the_grader_looks_at_task_seed_and_actions_only(url: str) -> None:
    log, score = make_log()
    forged = {**log, "rewards": [1.0] * N_WINDOWS, "score": 1.0, "observations": ["fine"]}
    for one in (log, forged, {key: log[key] for key in ("task_id", "seed", "actions")}):
        response = ask("POST", f"{url}/grader", {"episode_log": one})
        assert response.json()["score"] == score
    other = ask("POST", f"{url}/grader", {"episode_log": {**log, "seed": 8}}).json()
    assert other["score"] != score


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"actions": []}, "episode_log.actions"),
        ({"actions": [[32, 0.5, 0, 1, False, False]] * 89}, "episode_log.actions"),
        ({"actions": [[32, 0.5, 0, 1, False, False]] * 91}, "episode_log.actions"),
        ({"actions": [[32, 0.5, 0, 3, False, False]] * 90}, "episode_log.actions.0.3"),
        ({"actions": [[32, 0.5, 0, 1, 2, False]] * 90}, "episode_log.actions.0.4"),
        ({"actions": [[32, 0.5, 0, 1]] * 90}, "episode_log.actions.0.4"),
        ({"task_id": "another"}, "task_id"),
        ({"seed": -1}, "episode_log.seed"),
        ({"version": 2}, "episode_log.version"),
    ],
)
def test_a_log_of_another_length_task_or_range_is_refused(
    url: str, change: dict[str, Any], field: str
) -> None:
    log, _ = make_log()
    response = ask("POST", f"{url}/grader", {"episode_log": {**log, **change}})
    assert response.status_code == 422
    assert field in [one["field"] for one in response.json()["detail"]]


def test_flags_of_a_log_may_be_numbers(url: str) -> None:
    log, score = make_log()
    rows = [[*row[:4], int(row[4]), int(row[5])] for row in log["actions"]]
    response = ask("POST", f"{url}/grader", {"episode_log": {**log, "actions": rows}})
    assert response.json()["score"] == score


def test_large_bodies_are_refused_however_they_come(url: str) -> None:
    for content in (b"x" * 10_000_000, iter([b"x" * 1_000_000] * 10)):
        response = requests.post(f"{url}/reset", data=content, timeout=60)
        assert response.status_code == 413
        assert "10000000 bytes, 1048576 at most" in response.json()["detail"]
    assert ask("GET", f"{url}/health").ok


def test_the_tasks_say_what_is_promised(url: str) -> None:
    tasks = ask("GET", f"{url}/tasks").json()
    assert [task["task_id"] for task in tasks] == list(TASKS)
    assert [task["difficulty"] for task in tasks] == ["easy", "medium", "hard"]
    assert tasks[2]["slo"]["priority"] == {"ttft_ms": 450.0, "itl_ms": 40.0, "weight": 3.0}
    assert "batch_cap" in tasks[0]["action_schema"]["properties"]


def test_the_schemas_are_those_of_our_classes(url: str) -> None:
    schema = ask("GET", f"{url}/schema").json()
    assert schema["action"]["properties"]["batch_cap"]["maximum"] == 512
    assert "slo_compliance_rate" in schema["observation"]["properties"]
    assert "cumulative_reward" in schema["state"]["properties"]


def test_the_page_is_there_and_demo_leads_to_it(url: str) -> None:
    response = ask("GET", f"{url}/demo")
    assert [one.status_code for one in response.history] == [307, 307]
    assert response.status_code == 200
    assert "gradio" in response.text


def test_no_route_of_the_documents_ends_in_a_fault(url: str) -> None:
    paths = ask("GET", f"{url}/openapi.json").json()["paths"]
    assert {"/reset", "/step", "/state", "/tasks", "/grader", "/baseline"} <= set(paths)
    bodies = (None, {}, [], 0, "x", {"action": 1}, {"episode_log": []}, {"method": 5, "id": {}})
    for path in {*paths, "/web/step", "/web/reset", "/nowhere"}:
        target = re.sub(r"\{.*?\}", "x", path)
        for method in ("GET", "POST", "PUT", "DELETE"):
            for body in bodies:
                response = ask(method, f"{url}{target}", body)
                assert response.status_code < 500, (method, path, body, response.text)


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_ends_after_its_idle_time() -> None:
    clock = Clock()
    with serving(build_app(clock)) as url:
        for name in ("idle", "busy"):
            ask("POST", f"{url}/reset", {}, name)
        clock.now += 600
        assert ask("GET", f"{url}/state", session="busy").ok
        clock.now += 600
        assert ask("GET", f"{url}/state", session="busy").ok
        response = ask("GET", f"{url}/state", session="idle")
    assert response.status_code == 409
    assert "after 900 s" in response.json()["detail"]


def test_of_too_many_sessions_the_one_used_longest_ago_ends() -> None:
    store = SessionStore(LLMServeEnvironment, Clock(), max_sessions=2)
    for name in ("a", "b"):
        store.keep(name, store.find_or_make(name))
    kept = find_session(store, "a")
    store.keep("c", store.find_or_make("c"))
    assert len(store) == 2
    assert store.find("a") is kept
    with pytest.raises(Exception, match="session b"):
        store.find("b")
