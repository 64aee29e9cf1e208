"""The client: OpenEnv's own over WebSocket, and a plain facade of it.

env = LLMServeEnv.from_url("http://localhost:7860")
observation = env.reset(task_id="static_workload", seed=42)
observation, reward, done, info = env.step({"batch_cap": 64})
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

import requests
from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient

from llmserve_env.episode import DEFAULT_SEED, DEFAULT_TASK
from llmserve_env.errors import EpisodeOrderError, LLMServeError
from llmserve_env.models import ServeAction, ServeObservation, ServeState

TIMEOUT_S: Final = 60.0


class LLMServeEnv(EnvClient[ServeAction, ServeObservation, ServeState]):
    """OpenEnv's client of this environment: `async with LLMServeEnv(base_url=URL) as env`."""

    @classmethod
    def from_url(cls, url: str) -> "LLMServeSession":
        """Return a session of the server at this address, without async; close() ends it."""
        return LLMServeSession(url.rstrip("/"), cls)

    def _step_payload(self, action: ServeAction | Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(action, ServeAction):
            return action.model_dump(exclude={"metadata"})
        # As it is: it is the server that says which field is wrong.
        return dict(action)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[ServeObservation]:
        # openenv-core leaves the metadata out, openenv has it here and in the observation.
        fields = {"metadata": payload.get("metadata") or {}, **payload["observation"]}
        fields |= {"reward": payload.get("reward"), "done": payload.get("done", False)}
        observation = ServeObservation(**fields)
        return StepResult(observation=observation, reward=observation.reward, done=observation.done)

    def _parse_state(self, payload: dict[str, Any]) -> ServeState:
        return ServeState(**payload)


class LLMServeSession:
    """One session, step by step: reset, step, state, grade."""

    def __init__(self, url: str, client: type[LLMServeEnv] = LLMServeEnv) -> None:
        """Take the server's address; it is dialled by the first call."""
        self._url = url
        self._client = client(base_url=url).sync()
        self._state = ServeState()
        self._actions: list[list[Any]] = []

    def reset(self, task_id: str = DEFAULT_TASK, seed: int = DEFAULT_SEED) -> ServeObservation:
        """Begin an episode and return what is seen before its first window."""
        result = self._client.reset(task_id=task_id, seed=seed)
        self._state, self._actions = self.state(), []
        observation: ServeObservation = result.observation
        return observation

    def step(
        self, action: ServeAction | Mapping[str, Any]
    ) -> tuple[ServeObservation, float, bool, dict[str, Any]]:
        """Run a window; return observation, reward, whether the episode is over, and more of it.

        Raises RuntimeError with the server's words, ValidationError for an action that is none.
        """
        checked = action if isinstance(action, ServeAction) else ServeAction(**action)
        result = self._client.step(checked)
        self._actions.append(list(checked.to_settings()))
        observation: ServeObservation = result.observation
        if observation.done:
            self._state = self.state()
        # openenv-core drops the observation's metadata: the state has the same.
        about = {"episode_id": self._state.episode_id, "mode": self._state.mode}
        if observation.done:
            about["score"] = self._state.score
        return observation, result.reward, result.done, {**about, **observation.metadata}

    def state(self) -> ServeState:
        """Return how far the episode is."""
        state: ServeState = self._client.state()
        return state

    def grade(self) -> dict[str, Any]:
        """Return what the server's grader says of the episode, by its task, seed and actions.

        Raises EpisodeOrderError unless it is over.
        """
        if not self._state.done:
            raise EpisodeOrderError(
                f"the episode has run {len(self._actions)} steps and is not over"
            )
        state = self._state
        if state.mode == "real":
            about = {"task_id": state.task_id, "seed": state.seed, "mode": "real"}
            return {"score": state.score, "comparable": False, **about}
        log = {"task_id": state.task_id, "seed": state.seed, "actions": self._actions}
        response = requests.post(
            f"{self._url}/grader", json={"episode_log": log}, timeout=TIMEOUT_S
        )
        answer: dict[str, Any] = response.json()
        if not response.ok:
            raise LLMServeError(f"the grader refused the episode: {answer.get('detail')}")
        return answer

    def close(self) -> None:
        """End the session."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
