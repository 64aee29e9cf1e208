import pytest
from pydantic import ValidationError

import llmserve_env
from llmserve_env import LLMServeEnv, ServeAction, ServeObservation, ServeState
from llmserve_env.episode import grade
from llmserve_env.errors import EpisodeOrderError
from llmserve_env.simulator.workload import N_WINDOWS

ACTION = {"batch_cap": 64, "quantization_tier": "INT8", "kv_budget_fraction": 0.6}


def test_an_episode_as_the_readme_has_it(url: str) -> None:
    with LLMServeEnv.from_url(url) as env:
        observation = env.reset(task_id="static_workload", seed=42)
        assert isinstance(observation, ServeObservation)
        assert (observation.step_index, observation.done) == (0, False)
        while not observation.done:
            observation, reward, done, info = env.step(ACTION)
            assert reward == observation.reward
            assert info["mode"] == "sim"
            assert done == observation.done
        state = env.state()
        assert isinstance(state, ServeState)
        assert info == {"episode_id": state.episode_id, "mode": "sim", "score": state.score}
        actions = [ServeAction(**ACTION).to_settings()] * N_WINDOWS
        assert env.grade()["score"] == state.score == grade("static_workload", 42, actions)


def test_an_episode_in_progress_is_not_graded_and_no_other_is(url: str) -> None:
    with LLMServeEnv.from_url(url) as env:
        env.reset()
        env.step(ServeAction())
        with pytest.raises(EpisodeOrderError, match="has run 1 steps"):
            env.grade()


def test_a_wrong_action_is_told_before_it_is_sent(url: str) -> None:
    with LLMServeEnv.from_url(url) as env:
        env.reset()
        with pytest.raises(ValidationError, match="batch_cap"):
            env.step({"batch_cap": 0})
        with pytest.raises(RuntimeError, match="task_id: must be one of"):
            env.reset(task_id="another")
        assert env.step({})[0].step_index == 1


def test_a_server_that_is_not_there_is_told() -> None:
    env = LLMServeEnv.from_url("http://127.0.0.1:9")
    with pytest.raises(ConnectionError):
        env.reset()
    env.close()


def test_what_is_not_exported_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = llmserve_env.Nothing
