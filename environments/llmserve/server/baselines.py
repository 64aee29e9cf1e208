"""Plays the three tasks with a baseline, in this process or against a server."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from llmserve_env.baseline import Policy, make_baseline
from llmserve_env.client import LLMServeEnv
from llmserve_env.episode import grade
from llmserve_env.llm_policy import LanguageModelPolicy
from llmserve_env.models import ServeAction, ServeObservation
from llmserve_env.simulator.workload import TASKS
from server.environment import LLMServeEnvironment

SEED: Final = 42


class Player(Protocol):
    """Whatever plays episodes: a session of the client, or this process."""

    def reset(self, task_id: str, seed: int) -> ServeObservation:
        """Begin an episode."""
        ...

    def step(self, action: ServeAction) -> tuple[ServeObservation, float, bool, dict[str, Any]]:
        """Run a window."""
        ...

    def grade(self) -> dict[str, Any]:
        """Return the grader's answer."""
        ...


class LocalPlayer:
    """Plays in this process, as a session of the client does elsewhere."""

    def __init__(self) -> None:
        """Begin without an episode."""
        self._environment = LLMServeEnvironment()

    def reset(self, task_id: str, seed: int) -> ServeObservation:
        """Begin an episode."""
        return self._environment.reset(task_id=task_id, seed=seed)

    def step(self, action: ServeAction) -> tuple[ServeObservation, float, bool, dict[str, Any]]:
        """Run a window."""
        observation = self._environment.step(action)
        return observation, float(observation.reward or 0.0), observation.done, observation.metadata

    def grade(self) -> dict[str, Any]:
        """Return the grader's answer."""
        return grade_session(self._environment)


def grade_session(environment: LLMServeEnvironment) -> dict[str, Any]:
    """Grade a session's episode: replayed where it was simulated, else by what was measured.

    Raises EpisodeOrderError unless it is over.
    """
    episode, score = environment.episode, environment.episode.score()
    if environment.mode == "sim":
        score = grade(episode.task_id, episode.seed, episode.actions)
    return {
        "score": score,
        "task_id": episode.task_id,
        "seed": episode.seed,
        "mode": environment.mode,
        "comparable": environment.mode == "sim",
    }


def make_player(base_url: str | None) -> Player:
    """Return who plays: this process, or with an address the server there."""
    return LLMServeEnv.from_url(base_url) if base_url else LocalPlayer()


def play_episode(player: Player, policy: Policy, task_id: str, seed: int = SEED) -> float:
    """Return the score of one episode."""
    observation, is_over = player.reset(task_id, seed), False
    while not is_over:
        observation, _, is_over, _ = player.step(policy(observation))
    return float(player.grade()["score"])


def run_deterministic(player: Player, seed: int = SEED) -> dict[str, Any]:
    """Return the scores of the rules, the same at each call."""
    scores = _play_tasks(player, make_baseline, seed)
    return {"mode": "deterministic", "seed": seed, "scores": scores}


def run_language_model(player: Player, model: str, seed: int = SEED) -> dict[str, Any]:
    """Return the scores of a model. Raises UnavailableError where it cannot be asked."""
    policies: list[LanguageModelPolicy] = []

    def make_policy() -> Policy:
        policies.append(LanguageModelPolicy(model))
        return policies[-1]

    scores = _play_tasks(player, make_policy, seed)
    n_invalid = sum(policy.n_invalid for policy in policies)
    about = {"model": model, "invalid_actions": n_invalid}
    return {"mode": "openai", "seed": seed, "scores": scores, **about}


def _play_tasks(player: Player, make_policy: Callable[[], Policy], seed: int) -> dict[str, float]:
    return {task_id: play_episode(player, make_policy(), task_id, seed) for task_id in TASKS}
