import math
import random
from typing import Any

import pytest

from llmserve_env.episode import DEFAULT_SEED, Episode, grade
from llmserve_env.errors import EpisodeOrderError, InvalidFieldError
from llmserve_env.models import ServeAction
from llmserve_env.simulator.workload import N_WINDOWS, TASKS
from server.environment import LLMServeEnvironment


def draw_action(rng: random.Random) -> ServeAction:
    return ServeAction(
        batch_cap=rng.randint(1, 512),
        kv_budget_fraction=rng.uniform(0.1, 1.0),
        speculation_depth=rng.randint(0, 8),
        quantization_tier=rng.choice(("FP16", "INT8", "INT4")),
        prefill_decode_split=rng.random() < 0.5,
        priority_routing=rng.random() < 0.5,
    )


def test_an_episode_ends_after_its_windows_with_a_score() -> None:
    environment = LLMServeEnvironment()
    observation = environment.reset(seed=7, task_id="bursty_workload", episode_id="mine")
    rewards = []
    while not observation.done:
        observation = environment.step(ServeAction(quantization_tier="INT8"))
        rewards.append(observation.reward)
    assert len(rewards) == N_WINDOWS == observation.step_index
    state = environment.state
    assert (state.episode_id, state.task_id, state.seed) == ("mine", "bursty_workload", 7)
    assert (state.step_count, state.max_steps, state.done) == (90, 90, True)
    assert state.cumulative_reward == sum(rewards)
    assert observation.metadata == {"episode_id": "mine", "mode": "sim", "score": state.score}
    actions = [ServeAction(quantization_tier="INT8").to_settings()] * N_WINDOWS
    assert state.score == grade("bursty_workload", 7, actions)


def test_reset_without_anything_is_the_easy_task_with_the_usual_seed() -> None:
    environment = LLMServeEnvironment()
    environment.reset()
    assert (environment.state.task_id, environment.state.seed) == ("static_workload", DEFAULT_SEED)
    first_id = environment.state.episode_id
    environment.reset()
    assert environment.state.episode_id != first_id


def test_nothing_can_be_done_before_reset_nor_after_the_end() -> None:
    environment = LLMServeEnvironment()
    with pytest.raises(EpisodeOrderError, match="reset begins one"):
        environment.step(ServeAction())
    with pytest.raises(EpisodeOrderError):
        _ = environment.state
    environment.reset()
    with pytest.raises(EpisodeOrderError, match="0 of 90"):
        environment.episode.score()
    for _ in range(N_WINDOWS):
        environment.step(ServeAction())
    with pytest.raises(EpisodeOrderError, match="reset begins another"):
        environment.step(ServeAction())
    environment.close()
    with pytest.raises(EpisodeOrderError):
        _ = environment.state


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", -1),
        ("seed", 2**63),
        ("seed", 1.0),
        ("seed", True),
        ("seed", "7"),
        ("task_id", "static"),
        ("task_id", 3),
        ("episode_id", ""),
        ("episode_id", "x" * 256),
        ("episode_id", 5),
        ("episode_id", "\ud800"),
        ("difficulty", "easy"),
    ],
)
def test_a_wrong_reset_names_its_field_and_leaves_the_episode_alone(field: str, value: Any) -> None:
    environment = LLMServeEnvironment()
    environment.reset(seed=3)
    environment.step(ServeAction())
    with pytest.raises(InvalidFieldError) as error:
        environment.reset(**{field: value})
    assert error.value.field == field
    assert (environment.state.seed, environment.state.step_count) == (3, 1)


def test_ten_thousand_random_actions_stay_finite_and_in_bounds() -> None:
    rng = random.Random(1)
    environment = LLMServeEnvironment()
    for number in range(112):
        task_id = list(TASKS)[number % 3]
        observation = environment.reset(seed=number, task_id=task_id)
        while not observation.done:
            # The bounds themselves are in the model, which checks each observation.
            observation = environment.step(draw_action(rng))
            assert -0.65 <= observation.reward <= 1.0
            numbers = observation.model_dump(exclude={"metadata", "task_id"}).values()
            assert all(math.isfinite(value) for value in numbers)
        assert 0.0 <= environment.state.score <= 1.0


def test_the_same_seed_and_actions_give_the_same_floats() -> None:
    runs = []
    for _ in range(2):
        rng, environment = random.Random(5), LLMServeEnvironment()
        observations = [
            environment.reset(seed=11, task_id="adversarial_multitenant", episode_id="e")
        ]
        observations += [environment.step(draw_action(rng)) for _ in range(N_WINDOWS)]
        runs.append([one.model_dump_json() for one in observations])
    assert runs[0] == runs[1]


def test_a_grade_needs_one_action_for_each_window() -> None:
    episode = Episode()
    settings = ServeAction().to_settings()
    with pytest.raises(InvalidFieldError, match="must be 90, one for each window: 3"):
        grade(episode.task_id, episode.seed, [settings] * 3)


def test_metadata_names_the_environment_and_brings_its_readme() -> None:
    metadata = LLMServeEnvironment().get_metadata()
    assert metadata.name == "llmserve_env"
    assert "90 windows" in metadata.description
    assert "# LLMServe" in metadata.readme_content
