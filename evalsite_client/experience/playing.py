"""Episodes under the latest policy of a run: what is done is sampled, recorded and sent."""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.random import Generator

from evalsite_client.errors import (
    AnswerError,
    ChecksumError,
    ClientError,
    NotThereError,
    ProblemError,
    UnreachableError,
)
from evalsite_client.experience.chunks import Recorder, Step
from evalsite_client.experience.environments import Environment
from evalsite_client.experience.policies import Mlp, compute_log_probs
from evalsite_client.experience.releases import Follower, Say
from evalsite_client.experience.stopping import Stop
from evalsite_client.experience.uploading import Uploader
from evalsite_client.experience.weights import Floats
from evalsite_client.retries import PASSING_STATUSES

RECENT: Final = 100
LAST_S: Final = 10.0
"""Who is stopped waits no longer for a server."""
MOST_SEED: Final = 2**31 - 1
PASSING: Final = {*PASSING_STATUSES, *range(500, 600)}
"""Answers after which the server may answer otherwise soon."""


@dataclass(frozen=True)
class Terms:
    """How much is played, and after how many episodes the server is turned to."""

    n_episodes: int
    upload_every: int
    download_every: int


class Show(Protocol):
    """Is shown who plays after each episode."""

    def __call__(self, player: "Player") -> None:
        """Show it."""
        ...


class Player:
    """Plays, under one version of the policy from the begin of an episode to its end."""

    def __init__(
        self,
        environment: Environment,
        follower: Follower,
        uploader: Uploader,
        recorder: Recorder,
        *,
        rng: Generator,
        say: Say,
    ) -> None:
        """rng: draws actions and the seeds of episodes; follower: has a policy already."""
        self._environment, self._recorder = environment, recorder
        self._rng, self._say = rng, say
        self._told_version = -1
        self.follower, self.uploader = follower, uploader
        self.returns: list[float] = []
        self.n_steps = 0

    @property
    def recent_return(self) -> float | None:
        """Return the mean return of the last 100 episodes, None before the first."""
        return float(np.mean(self.returns[-RECENT:])) if self.returns else None

    def play(self, terms: Terms, stop: Stop, show: Show) -> bool:
        """Play, follow and upload; say whether all was played. Raises ClientError.

        Stopped, it still sends what is whole; stopped again, it raises KeyboardInterrupt.
        """
        try:
            while len(self.returns) < terms.n_episodes:
                self._play_episode(stop)
                show(self)
                self._turn_to_server(terms, stop)
            self._close_chunk()
            self.uploader.send_all()
        except KeyboardInterrupt:
            stop.begin_end()
            self._close_chunk()
            self._send_last()
            return False
        return True

    def _send_last(self) -> None:
        try:
            self.uploader.send_all(limit_s=LAST_S)
        except ClientError as error:
            # What was played and sent is still told.
            self._say(f"{self.uploader.n_waiting:,} steps could not be sent: {error}")

    def _play_episode(self, stop: Stop) -> None:
        policy = self.follower.policy
        assert policy is not None
        number, place, total = len(self.returns), 0, 0.0
        observation, is_over = (
            self._environment.reset(seed=int(self._rng.integers(MOST_SEED))),
            False,
        )
        while not is_over:
            stop.check()
            action, log_prob = choose_action(policy, observation, self._rng)
            outcome = self._environment.step(action)
            step = Step(
                number, place, observation, outcome.observation, action, *outcome[1:], log_prob
            )
            self._record_step(step)
            place, total, observation, is_over = (
                place + 1,
                total + step.reward,
                outcome[0],
                step.is_last,
            )
        self.returns.append(total)

    def _record_step(self, step: Step) -> None:
        self.n_steps += 1
        chunk = self._recorder.add_step(step, version=self.follower.version)
        if chunk is not None:
            self.uploader.offer(chunk)

    def _close_chunk(self) -> None:
        chunk = self._recorder.close()
        if chunk is not None:
            self.uploader.offer(chunk)

    def _turn_to_server(self, terms: Terms, stop: Stop) -> None:
        n_episodes = len(self.returns)
        if n_episodes % terms.upload_every == 0:
            self.uploader.send_all()
        # The version that it tells may be another run's of the game: it is looked for once.
        is_told = self.uploader.latest_version > max(self.follower.version, self._told_version)
        if is_told or n_episodes % terms.download_every == 0:
            self._told_version = self.uploader.latest_version
            self._follow_versions(stop)

    def _follow_versions(self, stop: Stop) -> None:
        try:
            with stop.interrupt_wait():
                is_new = self.follower.follow()
        except (NotThereError, UnreachableError, AnswerError, ChecksumError, ProblemError) as error:
            is_refused = isinstance(error, ProblemError) and error.status not in PASSING
            if is_refused and not isinstance(error, NotThereError):
                raise
            # Withdrawn meanwhile, or what came cannot be played: the version before can.
            self._say(f"plays on with version {self.follower.version}: {error}")
            return
        if is_new:
            # A chunk is of one version; here an episode has ended, so it may be short.
            self._close_chunk()


def choose_action(policy: Mlp, observation: Floats, rng: Generator) -> tuple[int, float]:
    """Return an action that the policy draws for an observation [F], and its log-probability."""
    log_probs = compute_log_probs(policy.compute_logits(observation[None])[0])
    cumulative = np.cumsum(np.exp(log_probs), dtype=np.float64)
    # They need not end at 1 to the last bit.
    drawn = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
    action = min(int(drawn), len(log_probs) - 1)
    return action, float(log_probs[action])
