"""An episode as OpenEnv plays it: one object for each session."""

from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from llmserve_env.episode import DEFAULT_SEED, DEFAULT_TASK, Episode
from llmserve_env.errors import EpisodeOrderError, InvalidFieldError
from llmserve_env.models import ServeAction, ServeObservation, ServeState, observe
from llmserve_env.real import RealEpisode, RealSettings, read_real_settings
from llmserve_env.simulator.sums import add_up
from llmserve_env.simulator.workload import N_WINDOWS

NAME: Final = "llmserve_env"
VERSION: Final = "0.1.0"
DESCRIPTION: Final = (
    "Steer a server of language models through 90 windows of 2 seconds: batch cap, KV cache, "
    "speculation, precision, prefill and decode apart, priority; under latency, memory and cost."
)
LONGEST_ID: Final = 255
README: Final = Path(__file__).resolve().parent.parent / "README.md"


class LLMServeEnvironment(Environment[ServeAction, ServeObservation, ServeState]):
    """A session's episodes, one after the other."""

    SUPPORTS_CONCURRENT_SESSIONS: bool = True

    def __init__(self) -> None:
        """Begin without an episode."""
        super().__init__()
        self._real: RealSettings | None = read_real_settings()
        self._episode: Episode | None = None
        self._episode_id = ""

    @property
    def episode(self) -> Episode:
        """The episode in progress, or the last one. Raises EpisodeOrderError before reset."""
        if self._episode is None:
            raise EpisodeOrderError("no episode has begun in this session: reset begins one")
        return self._episode

    @property
    def mode(self) -> str:
        """Say whether answers are simulated or a real model's."""
        return "real" if self._real else "sim"

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task_id: str | None = None,
        **kwargs: Any,
    ) -> ServeObservation:
        """Begin an episode. Raises InvalidFieldError; the one before then goes on."""
        for name in kwargs:
            raise InvalidFieldError(name, "there is no such option: seed, episode_id, task_id")
        wanted_id = _check_episode_id(episode_id)
        chosen_task = DEFAULT_TASK if task_id is None else task_id
        chosen_seed = DEFAULT_SEED if seed is None else seed
        if self._real:
            self._episode = RealEpisode(self._real, chosen_task, chosen_seed)
        else:
            self._episode = Episode(chosen_task, chosen_seed)
        self._episode_id = wanted_id
        return self._observe(0.0)

    def step(
        self, action: ServeAction, timeout_s: float | None = None, **kwargs: Any
    ) -> ServeObservation:
        """Run a window. Raises EpisodeOrderError before reset and after the end."""
        del timeout_s, kwargs
        return self._observe(self.episode.step(action.to_settings()).reward)

    @property
    def state(self) -> ServeState:
        """How far the episode is. Raises EpisodeOrderError before reset."""
        episode = self.episode
        return ServeState(
            episode_id=self._episode_id,
            step_count=episode.n_windows,
            task_id=episode.task_id,
            seed=episode.seed,
            max_steps=N_WINDOWS,
            done=episode.is_over,
            mode=self.mode,
            cumulative_reward=add_up(episode.rewards),
            score=episode.score() if episode.is_over else None,
        )

    def get_metadata(self) -> EnvironmentMetadata:
        """Return name, description and README."""
        return EnvironmentMetadata(
            name=NAME,
            description=DESCRIPTION,
            version=VERSION,
            author="evalsite",
            readme_content=README.read_text() if README.is_file() else None,
        )

    def close(self) -> None:
        """Forget the episode."""
        self._episode = None

    def _observe(self, reward: float) -> ServeObservation:
        episode = self.episode
        metadata: dict[str, Any] = {"episode_id": self._episode_id, "mode": self.mode}
        if isinstance(episode, RealEpisode):
            metadata |= episode.describe()
        if episode.is_over:
            metadata["score"] = episode.score()
        return ServeObservation(
            **observe(episode.sight),
            step_index=episode.n_windows,
            task_id=episode.task_id,
            reward=reward,
            done=episode.is_over,
            metadata=metadata,
        )


def _check_episode_id(episode_id: object) -> str:
    if episode_id is None:
        return str(uuid4())
    is_text = isinstance(episode_id, str) and 0 < len(episode_id) <= LONGEST_ID
    # Neither control characters nor halves of a pair, which no encoding can write.
    if not (is_text and episode_id.isprintable()):
        rule = f"must be 1 to {LONGEST_ID} printable characters: {episode_id!r:.80}"
        raise InvalidFieldError("episode_id", rule)
    return episode_id
