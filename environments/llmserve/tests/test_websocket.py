import asyncio
import json
from contextlib import ExitStack
from typing import Any

import pytest
from openenv.core.generic_client import GenericEnvClient
from websockets.exceptions import ConnectionClosed

from llmserve_env import LLMServeEnv, ServeAction
from llmserve_env.episode import Episode
from server.app import MAX_SOCKETS, build_app
from tests.serving import dial, serving


def tell(socket: Any, kind: str, data: Any = None) -> dict[str, Any]:
    message = {"type": kind} if data is None else {"type": kind, "data": data}
    socket.send(json.dumps(message))
    answer: dict[str, Any] = json.loads(socket.recv(timeout=30))
    return answer


def test_an_episode_is_played_by_openenvs_own_client(url: str) -> None:
    episode = Episode("adversarial_multitenant", 5)
    with GenericEnvClient(base_url=url).sync() as env:
        result = env.reset(seed=5, task_id="adversarial_multitenant")
        while not result.done:
            result = env.step({"quantization_tier": "INT8", "kv_budget_fraction": 0.5})
            settings = ServeAction(quantization_tier="INT8", kv_budget_fraction=0.5).to_settings()
            assert result.reward == episode.step(settings).reward
        state = env.state()
    assert state["score"] == episode.score()


def test_our_client_is_openenvs_client(url: str) -> None:
    async def play() -> tuple[float, int]:
        async with LLMServeEnv(base_url=url) as env:
            await env.reset(seed=5, task_id="static_workload")
            result = await env.step(ServeAction(batch_cap=64))
            return result.reward, (await env.state()).step_count

    expected = Episode("static_workload", 5).step(ServeAction(batch_cap=64).to_settings()).reward
    assert asyncio.run(play()) == (expected, 1)


def test_what_is_wrong_is_told_and_the_session_goes_on(url: str) -> None:
    with dial(url) as socket:
        assert "reset begins one" in tell(socket, "state")["data"]["message"]
        assert "reset begins one" in tell(socket, "step", {})["data"]["message"]
        assert tell(socket, "reset", {"seed": 3})["type"] == "observation"
        for data, reason in (
            ({"seed": -1}, "seed: must be"),
            ({"seed": 10**400}, "seed: must be"),
            ({"task_id": "x"}, "task_id: must be one of static_workload"),
            ({"level": 1}, "level: there is no such option"),
            ({"episode_id": "\ud800"}, "episode_id: must be"),
        ):
            answer = tell(socket, "reset", data)
            assert (answer["type"], reason in answer["data"]["message"]) == ("error", True)
        for data in ({"batch_cap": 0}, {"kv_budget_fraction": float("nan")}, {"turbo": 1}):
            answer = tell(socket, "step", data)
            assert answer["data"]["code"] == "VALIDATION_ERROR"
            assert answer["data"]["errors"][0]["loc"] == list(data)
        socket.send("{")
        assert json.loads(socket.recv())["data"]["code"] == "INVALID_JSON"
        assert tell(socket, "dance")["data"]["code"] == "UNKNOWN_TYPE"
        tell(socket, "step", {})
        assert tell(socket, "state")["data"]["step_count"] == 1


def test_sixty_four_play_at_once_without_mixing_and_one_more_is_refused() -> None:
    with ExitStack() as stack:
        url = stack.enter_context(serving(build_app()))
        sockets = [stack.enter_context(dial(url)) for _ in range(MAX_SOCKETS)]
        for seed, socket in enumerate(sockets):
            tell(socket, "reset", {"seed": seed, "task_id": "bursty_workload"})
        for socket in sockets[::2]:
            tell(socket, "step", {})
        states = [tell(socket, "state")["data"] for socket in sockets]
        assert [state["seed"] for state in states] == list(range(MAX_SOCKETS))
        assert [state["step_count"] for state in states] == [1, 0] * (MAX_SOCKETS // 2)
        with dial(url) as one_more:
            refusal = json.loads(one_more.recv(timeout=30))
        assert refusal["data"]["code"] == "CAPACITY_REACHED"


def test_a_silent_socket_ends_and_leaves_its_place() -> None:
    with serving(build_app(idle_s=0.5)) as url, dial(url) as socket:
        tell(socket, "reset", {})
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=30)
    assert closed.value.rcvd.code == 1001
    assert closed.value.rcvd.reason == "no message for 0.5 s"


def test_a_message_that_is_too_large_ends_its_socket(url: str) -> None:
    with dial(url) as socket, pytest.raises(ConnectionClosed) as closed:
        tell(socket, "reset", {"episode_id": "x" * 2_000_000})
    assert closed.value.rcvd.code == 1009


def test_the_size_of_a_message_is_that_of_its_bytes(url: str) -> None:
    with dial(url) as socket:
        # Fewer characters than may be bytes, of two bytes each.
        socket.send('{"type":"reset","data":{"episode_id":"' + "é" * 600_000 + '"}}')
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=30)
    assert closed.value.rcvd.code == 1009
