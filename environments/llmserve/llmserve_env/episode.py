"""An episode in process: tasks, whole actions, reward and score. No server, no OpenEnv."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from llmserve_env.errors import EpisodeOrderError, InvalidFieldError
from llmserve_env.simulator.grading import Grader, Window, reward
from llmserve_env.simulator.settings import Settings
from llmserve_env.simulator.simulator import Server, Sight
from llmserve_env.simulator.workload import N_WINDOWS, TASKS, WINDOW_S

DEFAULT_TASK: Final = "static_workload"
DEFAULT_SEED: Final = 42
HIGHEST_SEED: Final = 2**63 - 1


class Step(NamedTuple):
    """A window that has run."""

    sight: Sight
    reward: float


class Episode:
    """One episode of a task."""

    def __init__(self, task_id: str = DEFAULT_TASK, seed: int = DEFAULT_SEED) -> None:
        """Draw its requests. Raises InvalidFieldError for an unknown task or a wrong seed."""
        self.task_id, self.seed = check_task(task_id), check_seed(seed)
        self.server = Server(TASKS[task_id], seed)
        self.grader = Grader()
        self.actions: list[Settings] = []
        self.rewards: list[float] = []

    @property
    def is_over(self) -> bool:
        """Whether all windows have run."""
        return self.server.is_over

    @property
    def n_windows(self) -> int:
        """How many windows have run."""
        return self.server.n_windows

    @property
    def sight(self) -> Sight:
        """What an operator sees of the window before; real mode puts in what it measured."""
        return self.server.sight

    def step(self, settings: Settings) -> Step:
        """Run the next window. Raises EpisodeOrderError when the episode is over."""
        if self.is_over:
            raise EpisodeOrderError(
                f"the episode is over after {N_WINDOWS} steps: reset begins another"
            )
        window = self.run_window(settings)
        self.grader.add(window)
        self.actions.append(settings)
        self.rewards.append(reward(window))
        return Step(self.sight, self.rewards[-1])

    def run_window(self, settings: Settings) -> Window:
        """Return what happened in the next window; real mode asks a real model here."""
        return self.server.run_window(settings)

    def score(self) -> float:
        """Return the grader's score, 0..1. Raises EpisodeOrderError before the end."""
        if not self.is_over:
            raise EpisodeOrderError(
                f"the episode has run {self.n_windows} of {N_WINDOWS} steps: graded at its end"
            )
        return self.grader.score()


def check_task(task_id: object) -> str:
    """Return the task's id. Raises InvalidFieldError."""
    if not isinstance(task_id, str) or task_id not in TASKS:
        raise InvalidFieldError("task_id", f"must be one of {', '.join(TASKS)}: {task_id!r:.80}")
    return task_id


def check_seed(seed: object) -> int:
    """Return the seed. Raises InvalidFieldError."""
    if type(seed) is not int or not 0 <= seed <= HIGHEST_SEED:
        rule = f"must be a whole number of 0..{HIGHEST_SEED}: {seed!r:.80}"
        raise InvalidFieldError("seed", rule)
    return seed


def grade(task_id: str, seed: int, actions: Iterable[Settings]) -> float:
    """Return the score of an episode from these three alone.

    Raises InvalidFieldError unless there are as many actions as windows.
    """
    settings = tuple(actions)
    if len(settings) != N_WINDOWS:
        raise InvalidFieldError(
            "actions", f"must be {N_WINDOWS}, one for each window: {len(settings)}"
        )
    episode = Episode(task_id, seed)
    for one in settings:
        episode.step(one)
    return episode.score()


def write_log(episode: Episode) -> dict[str, Any]:
    """Return what a grader needs, and the rewards for the reader."""
    actions: Sequence[list[float]] = [list(one) for one in episode.actions]
    return {
        "version": 1,
        "task_id": episode.task_id,
        "seed": episode.seed,
        "actions": actions,
        "rewards": list(episode.rewards),
    }


def describe_tasks(action_schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the tasks, each with what its two classes of requests are promised."""
    return [
        {
            "task_id": task.id,
            "difficulty": task.difficulty,
            "description": task.description,
            "max_steps": N_WINDOWS,
            "window_s": WINDOW_S,
            "action_schema": action_schema,
            "slo": {
                name: {
                    "ttft_ms": 1_000 * limits.first_token_s,
                    "itl_ms": 1_000 * limits.token_s,
                    "weight": limits.weight,
                }
                for name, limits in zip(("standard", "priority"), task.limits, strict=True)
            },
        }
        for task in TASKS.values()
    ]
