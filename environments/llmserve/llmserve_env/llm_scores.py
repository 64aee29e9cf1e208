"""A language model as one more agent: its scores on seeds, and how often it answered no action."""

from collections.abc import Sequence
from functools import partial
from multiprocessing.pool import ThreadPool
from typing import NamedTuple

from llmserve_env.episode import Episode
from llmserve_env.llm_policy import LanguageModelPolicy
from llmserve_env.models import ServeObservation, observe


class ModelScores(NamedTuple):
    """n_invalid: answers that were no valid action, of all episodes; each repeated the last one."""

    by_seed: list[float]
    n_invalid: int


def score_model(model: str, task_id: str, seeds: Sequence[int], *, n_at_once: int) -> ModelScores:
    """Return what a model scores on each seed, asked anew in each episode.

    n_at_once: episodes that wait for it at the same time. Raises UnavailableError where it fails.
    """
    with ThreadPool(n_at_once) as pool:
        # Not `map`, which plays all others to their end before it tells what one has raised.
        played = list(pool.imap(partial(_play, model, task_id), seeds))
    return ModelScores([score for score, _ in played], sum(n for _, n in played))


def _play(model: str, task_id: str, seed: int) -> tuple[float, int]:
    policy, episode = LanguageModelPolicy(model), Episode(task_id, seed)
    while not episode.is_over:
        fields = observe(episode.server.sight)
        seen = ServeObservation(**fields, step_index=episode.n_windows, task_id=task_id)
        episode.step(policy(seen).to_settings())
    return episode.score(), policy.n_invalid
