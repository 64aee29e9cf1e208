"""The versions that a run publishes: the newest is asked for and taken where it can be played."""

from collections.abc import Callable
from typing import Final

from evalsite_client.api.games import Game
from evalsite_client.errors import AnswerError, NotThereError, WaitTimeoutError
from evalsite_client.experience.policies import Mlp, build_policy
from evalsite_client.experience.weights import read_weights
from evalsite_client.models import Models
from evalsite_client.retries import Clock

POLL_S: Final = 1.0
LINE_EVERY_S: Final = 10.0
Say = Callable[[str], None]


class Follower:
    """Holds the latest policy of a run that it has seen."""

    def __init__(
        self, models: Models, run: str, game: Game, *, is_released: bool = False, say: Say
    ) -> None:
        """is_released: it follows what was judged and released, else whatever is the newest."""
        self._models, self._run, self._game = models, run, game
        self._is_released, self._say = is_released, say
        self._etag = ""
        self.version = -1
        self.policy: Mlp | None = None

    def follow(self) -> bool:
        """Take the latest version if it is a later one; say whether it is.

        Raises NotThereError while the run has none, AnswerError and ChecksumError for weights that
        cannot be played, which are never taken.
        """
        answered = self._models.find_latest(
            self._run, is_released=self._is_released, etag=self._etag
        )
        if answered is None:
            return False
        latest, etag = answered
        if latest.game != self._game.id:
            raise AnswerError(f"run {latest.run} plays {latest.game}, not {self._game.id}")
        is_later = latest.version > self.version
        if is_later:
            self.policy = build_policy(
                read_weights(self._models.fetch_weights(latest)),
                game=self._game.id,
                observation_shape=self._game.observation_shape,
                n_actions=self._game.n_actions,
            )
            self.version = latest.version
        elif latest.version < self.version:
            self._say(f"version {latest.version} is older than {self.version}: not taken")
        # Last: what could not be taken is asked for again.
        self._etag = etag
        return is_later

    def wait_for_first(self, limit_s: float, clock: Clock) -> None:
        """Take the first version, asking until there is one. Raises WaitTimeoutError."""
        begun_s = clock.monotonic()
        told_s = begun_s - LINE_EVERY_S
        while True:
            try:
                self.follow()
                return
            except NotThereError as error:
                now_s = clock.monotonic()
                if now_s - told_s >= LINE_EVERY_S:
                    told_s = now_s
                    self._say(f"waits for the first version of run {self._run}")
                if now_s - begun_s >= limit_s:
                    why = f"run {self._run} has no version after {limit_s:g} s: {error}"
                    raise WaitTimeoutError(why) from error
            clock.sleep(POLL_S)
