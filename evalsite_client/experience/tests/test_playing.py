"""Who plays: what is sampled, recorded and sent, and when another version is taken."""

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from requests import Response

from evalsite_client import Retries
from evalsite_client.experience.chunks import Recorder
from evalsite_client.experience.environments import Environment, Outcome
from evalsite_client.experience.playing import Player, Terms, choose_action
from evalsite_client.experience.policies import Mlp, build_policy, compute_log_probs
from evalsite_client.experience.releases import Follower
from evalsite_client.experience.stopping import Stop
from evalsite_client.experience.tests.made import GAME, Walk, make_weights
from evalsite_client.experience.tests.platform import Platform
from evalsite_client.experience.uploading import Uploader
from evalsite_client.experience.weights import Floats, read_weights
from evalsite_client.tests import fakes
from evalsite_client.tests.fakes import Seen, broken, problem

Answering = Callable[[Seen], Response]


def _player(
    environment: Environment, answering: Answering, stop: Stop, *, seed: int = 0
) -> tuple[Player, list[str]]:
    lines: list[str] = []
    client, _ = fakes.client(answering, token="t", retries=Retries(n_attempts=1))
    follower = Follower(client.models, "poles", GAME, say=lines.append)
    follower.follow()
    playing, keeping = np.random.default_rng(seed).spawn(2)
    uploader = Uploader(
        client.experience.upload_chunk, clock=client.clock, rng=keeping, stop=stop, say=lines.append
    )
    recorder = Recorder("cart_pole", draw_id=lambda: uuid4().hex)
    player = Player(environment, follower, uploader, recorder, rng=playing, say=lines.append)
    return player, lines


def _play(
    environment: Environment,
    answering: Answering,
    terms: Terms,
    *,
    stop: Stop | None = None,
    seed: int = 0,
) -> tuple[Player, list[str], bool]:
    stop = stop or Stop()
    player, lines = _player(environment, answering, stop, seed=seed)
    is_complete = player.play(terms, stop, lambda player: None)
    return player, lines, is_complete


def _read_policy(content: bytes) -> Mlp:
    return build_policy(
        read_weights(content), game="cart_pole", observation_shape=(4,), n_actions=2
    )


def test_every_step_is_sent_once_with_the_log_probability_of_its_version(tmp_path: Path) -> None:
    versions = [make_weights(tmp_path, seed=seed) for seed in range(3)]
    platform = Platform([versions[0]], publish_after={2: versions[1], 4: versions[2]})
    player, _, is_complete = _play(Walk(100, 30, 300, 7), platform, Terms(40, 1, 1))
    assert is_complete
    n_steps = 100 + 30 + 300 + 37 * 7
    assert (player.n_steps, sum(map(len, platform.chunks))) == (n_steps, n_steps)
    rows = [
        (int(episode), int(step))
        for chunk in platform.chunks
        for episode, step in zip(chunk.episodes, chunk.steps, strict=True)
    ]
    assert rows == sorted(set(rows))
    assert {chunk.policy_version for chunk in platform.chunks} == {0, 1, 2}
    for chunk in platform.chunks:
        log_probs = compute_log_probs(
            _read_policy(versions[chunk.policy_version]).compute_logits(chunk.observations)
        )
        taken = log_probs[np.arange(len(chunk)), chunk.actions]
        np.testing.assert_allclose(chunk.log_probs, taken, atol=1e-6)


def test_actions_are_drawn_as_often_as_the_policy_says(tmp_path: Path) -> None:
    policy, rng = _read_policy(make_weights(tmp_path)), np.random.default_rng(0)
    observation: Floats = np.array([0.1, -2, 3, 1], np.float32)
    probability = float(np.exp(compute_log_probs(policy.compute_logits(observation[None])))[0, 1])
    actions = [choose_action(policy, observation, rng)[0] for _ in range(4_000)]
    assert abs(np.mean(actions) - probability) < 4 * np.sqrt(0.25 / len(actions))


def test_the_same_seed_plays_the_same(tmp_path: Path) -> None:
    def actions(seed: int) -> list[int]:
        platform = Platform([make_weights(tmp_path)])
        _play(Walk(30), platform, Terms(10, 1, 1), seed=seed)
        return [int(action) for chunk in platform.chunks for action in chunk.actions]

    assert actions(1) == actions(1)
    assert actions(1) != actions(2)


def test_it_turns_to_the_server_as_often_as_it_is_told(tmp_path: Path) -> None:
    platform = Platform([make_weights(tmp_path)])
    seen_after: list[int] = []
    stop = Stop()
    player, _ = _player(Walk(200), platform, stop)
    player.play(Terms(9, 4, 100), stop, lambda player: seen_after.append(platform.n_uploads))
    assert seen_after == [0, 0, 0, 0, 4, 4, 4, 4, 8]
    assert (platform.n_uploads, platform.n_looks) == (9, 1)


def test_the_answer_to_an_upload_says_that_there_is_a_later_version(tmp_path: Path) -> None:
    later = make_weights(tmp_path, seed=2)
    platform = Platform([make_weights(tmp_path)], publish_after={3: later})
    player, _, _ = _play(Walk(200), platform, Terms(8, 1, 1_000))
    assert [chunk.policy_version for chunk in platform.chunks] == [0, 0, 0, 1, 1, 1, 1, 1]
    assert (player.follower.version, platform.n_looks) == (1, 2)


@pytest.mark.parametrize("failing", [broken, lambda: problem(404, "withdrawn")])
def test_it_plays_on_while_no_later_version_can_be_had(
    failing: Callable[[], Response], tmp_path: Path
) -> None:
    platform = Platform([make_weights(tmp_path)])

    def answering(request: Seen) -> Response:
        return failing() if "latest" in request.url and platform.n_looks else platform(request)

    player, lines, _ = _play(Walk(200), answering, Terms(3, 1, 1))
    assert len(platform.chunks) == 3
    assert player.follower.version == 0
    assert lines[0].startswith("plays on with version 0: ")


def test_weights_that_are_none_are_not_played(tmp_path: Path) -> None:
    platform = Platform([make_weights(tmp_path)], publish_after={1: b"\x80\x04."})
    _, lines, _ = _play(Walk(200), platform, Terms(4, 1, 2))
    assert {chunk.policy_version for chunk in platform.chunks} == {0}
    assert "plays on with version 0: the weights are not safetensors" in lines[0]


class _StoppingWalk(Walk):
    """Somebody wants an end during a step."""

    def __init__(self, stop: Stop, n_steps: int, length: int) -> None:
        super().__init__(length)
        self.stop, self.n_left = stop, n_steps

    def step(self, action: int) -> Outcome:
        self.n_left -= 1
        if self.n_left == 0:
            self.stop.take_signal()
        return super().step(action)


@pytest.mark.parametrize(
    ("n_steps", "length", "n_sent"), [(100, 500, 100), (15, 500, 0), (13, 10, 10), (10, 10, 10)]
)
def test_stopped_it_sends_what_is_whole(
    n_steps: int, length: int, n_sent: int, tmp_path: Path
) -> None:
    stop, platform = Stop(), Platform([make_weights(tmp_path)])
    walk = _StoppingWalk(stop, n_steps, length)
    _, _, is_complete = _play(walk, platform, Terms(9, 1, 1), stop=stop)
    assert not is_complete
    assert sum(map(len, platform.chunks)) == n_sent


def test_stopped_in_an_upload_it_sends_that_chunk_once(tmp_path: Path) -> None:
    stop, platform = Stop(), Platform([make_weights(tmp_path)])

    def answering(request: Seen) -> Response:
        response = platform(request)
        if platform.n_uploads == 2 and not stop.is_wanted:
            stop.take_signal()  # the answer is lost
        return response

    player, _, is_complete = _play(Walk(200), answering, Terms(9, 1, 1), stop=stop)
    assert not is_complete
    assert (len(platform.chunks), platform.n_uploads) == (2, 3)
    assert player.uploader.counts.n_duplicates == 1
    assert player.uploader.counts.n_sent == 400


def test_stopped_it_does_not_wait_long_for_a_server(tmp_path: Path) -> None:
    stop, platform = Stop(), Platform([make_weights(tmp_path)])

    def answering(request: Seen) -> Response:
        is_upload = request.method == "POST"
        return problem(503, "full", Retry_After="60") if is_upload else platform(request)

    walk = _StoppingWalk(stop, 20, 500)
    player, lines, is_complete = _play(walk, answering, Terms(9, 1, 1), stop=stop)
    assert not is_complete
    assert player.uploader.n_waiting == 20
    assert lines == ["20 steps could not be sent: full"]
