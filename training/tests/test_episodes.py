"""Returns of episodes that cross the ends of chunks, of several clients at once."""

from typing import Any
from uuid import UUID

import numpy as np
import pytest

from arena.experience.chunks import Chunk
from training import episodes, registry
from training.episodes import Episodes
from training.tests.cart_pole import TASK, Player


def _chunk(
    episode: int, steps: range, *, is_end: bool = False, client: float = 0.0, reward: float = 1.0
) -> Chunk:
    """Return steps of one episode; what is observed tells client and step."""
    numbers = np.array(steps)
    observations = np.stack([np.full(len(numbers), client), numbers], axis=1).astype(np.float32)
    ended = np.zeros(len(numbers), bool)
    ended[-1] = is_end
    return Chunk(
        game="cart_pole",
        chunk_id=UUID(int=0).hex,
        policy_version=0,
        episodes=np.full(len(numbers), episode, np.int64),
        steps=numbers.astype(np.int32),
        observations=observations,
        next_observations=observations + np.array([0, 1], np.float32),
        actions=np.zeros(len(numbers), np.int32),
        rewards=np.full(len(numbers), reward, np.float32),
        terminated=ended,
        truncated=np.zeros(len(numbers), bool),
        log_probs=np.zeros(len(numbers), np.float32),
    )


def test_the_return_of_an_episode_is_over_all_its_chunks() -> None:
    open_episodes = Episodes()
    assert open_episodes.measure([_chunk(3, range(100))]) == {}
    assert open_episodes.measure([_chunk(3, range(100, 150))]) == {}
    ended = open_episodes.measure([_chunk(3, range(150, 200), is_end=True), _chunk(4, range(9))])
    assert ended == {"n_episodes": 1.0, "return": 200.0}
    assert len(open_episodes.under_way) == 1


def test_clients_with_the_same_numbers_are_kept_apart() -> None:
    open_episodes = Episodes()
    open_episodes.measure(
        [_chunk(0, range(10), client=1.0), _chunk(0, range(10), client=2.0, reward=3.0)]
    )
    ends = [_chunk(0, range(10, 11), is_end=True, client=client) for client in (2.0, 1.0)]
    assert open_episodes.measure(ends) == {
        "n_episodes": 2.0,
        "return": 21.0,
        "return_sd": pytest.approx(np.std([31, 11], ddof=1)),
    }


def test_an_episode_whose_beginning_was_left_out_is_not_counted() -> None:
    assert Episodes().measure([_chunk(0, range(5, 9), is_end=True)]) == {}


def test_those_that_wait_longest_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(episodes, "MOST_OPEN", 2)
    open_episodes = Episodes()
    open_episodes.measure([_chunk(0, range(4), client=client) for client in (1.0, 2.0, 3.0)])
    ends = [_chunk(0, range(4, 5), is_end=True, client=client) for client in (1.0, 2.0, 3.0)]
    assert open_episodes.measure(ends)["n_episodes"] == 2.0


def test_what_no_report_can_hold_is_left_out() -> None:
    huge = [_chunk(0, range(2), is_end=True, client=one, reward=3e38) for one in (1.0, 2.0)]
    assert Episodes().measure(huge) == {"n_episodes": 2.0, "return_sd": 0.0}


@pytest.mark.parametrize("trainer", ["appo", "bc"])
def test_trainers_report_it_across_slices(trainer: str) -> None:
    def begin() -> Any:
        return registry.get(trainer).begin(TASK, {}, seed=0)

    first, player = begin(), Player(0)
    metrics = dict(first.learn([player.play(first, 40), player.play(first, 40)]))
    assert metrics["return"] == pytest.approx(metrics["n_used"] / metrics["n_episodes"], rel=0.5)
    later = begin()
    later.load(first.save())
    chunk = player.play(first, 40)
    assert chunk.steps[0] > 0
    assert later.learn([chunk])["n_episodes"] == chunk.terminated.sum()
