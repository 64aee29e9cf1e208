"""Keeps the trajectories of matches in play, and lets no ending go before they are stored.

Only players of orders that store trajectories import this: pyarrow costs each some 50 MB.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from arena.games.base import Game
from arena.messages import AgentOrder, Ending
from arena.parameters import read_parameters
from arena.policies import registry as policies
from arena.policies.network_policy import FloatBatch, MaskBatch
from arena.policies.sampling import log_prob
from arena.trajectories import Episode, Step, TrajectorySpec, encode_episodes
from workers.errors import OrderError
from workers.match_in_play import MatchInPlay
from workers.trajectory_upload import TrajectorySite, UploadError
from workers.wire import EndedMatch, Prepare

SITE = "EVALSITE_SITE_URL"
PIECE_MATCHES = 64
# Floats of a piece before it is compressed.
PIECE_BYTES = 1 << 22
# An ending waits no longer than this for others to go with it.
PIECE_S = 2.0

TEMPERATURE = "temperature"


class TrajectoryRecorder:
    """Collects whole matches and uploads some at a time as one Parquet piece."""

    def __init__(
        self,
        form: TrajectorySpec,
        agents: Sequence[AgentOrder],
        upload: Callable[[bytes], str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep nothing yet; `upload` returns the SHA-256 of a piece, or raises UploadError."""
        self._form, self._agents, self._upload, self._clock = form, agents, upload, clock
        self._temperatures = [temperature_of(agent) for agent in agents]
        self._steps: dict[int, list[Step]] = {}
        self._whole: list[tuple[EndedMatch, Episode]] = []
        self._n_bytes = 0
        self._upload_at = 0.0

    def add_step(
        self,
        match: MatchInPlay,
        seat: int,
        action: int,
        *,
        observation: NDArray[np.generic],
        mask: MaskBatch,
        logits: FloatBatch | None,
        value: float | None,
    ) -> None:
        """Keep one decision; the first one of a match starts it afresh."""
        if not match.n_steps:
            self._steps[match.index] = []
        agent = match.seats[seat]
        step = Step(seat, observation.copy(), mask.copy(), action)
        if logits is not None:
            temperature = self._temperatures[agent]
            step = step._replace(
                checkpoint=self._agents[agent].checkpoint,
                logits=logits.copy(),
                log_prob=None
                if temperature is None
                else log_prob(logits, mask, action, temperature=temperature),
                value=value,
            )
        # Copies above: the arrays may be rows of a block that its owner uses again.
        self._steps[match.index].append(step)

    def add_ending(
        self, match: MatchInPlay, row: EndedMatch, returns: Sequence[float] | None
    ) -> bool:
        """Take a match that has an outcome and at least one decision; what failed is forgotten."""
        steps = self._steps.pop(match.index, [])
        if not steps or row.ending not in (Ending.DONE, Ending.FORFEIT):
            return False
        if not self._whole:
            self._upload_at = self._clock() + PIECE_S
        self._whole.append((row, Episode(match.match, match.game_seed, steps, returns)))
        self._n_bytes += len(steps) * self._form.row_bytes
        return True

    def forget_match(self, match: MatchInPlay) -> None:
        """Forget a match that is played elsewhere."""
        self._steps.pop(match.index, None)

    def store_due(self, *, flush: bool) -> list[EndedMatch]:
        """Upload what waits if it is time; return its rows, interrupted if that fails."""
        is_full = len(self._whole) >= PIECE_MATCHES or self._n_bytes >= PIECE_BYTES
        is_due = flush or is_full or self._clock() >= self._upload_at
        if not self._whole or not is_due:
            return []
        whole, self._whole, self._n_bytes = self._whole, [], 0
        episodes = sorted((episode for _, episode in whole), key=lambda episode: episode.number)
        try:
            digest = self._upload(encode_episodes(episodes, self._form))
        except UploadError as error:
            # Without its trajectory a match is not what was ordered: it is played again.
            lost = {"ranks": [], "seat": -1, "detail": error.detail}
            lost |= {"ending": error.ending, "reason": error.reason}
            return [msgspec.structs.replace(row, **lost) for row, _ in whole]
        return [msgspec.structs.replace(row, trajectory=digest) for row, _ in whole]


def temperature_of(agent: AgentOrder) -> float | None:
    """Return the temperature of the agent's softmax; None when its kind declares none."""
    declared = policies.get(agent.policy).parameters
    if TEMPERATURE not in {parameter.name for parameter in declared}:
        return None
    return float(read_parameters(agent.policy, declared, agent.parameters)[TEMPERATURE])


def open_recorder(
    prepare: Prepare, game: Game, environ: Mapping[str, str] = os.environ
) -> TrajectoryRecorder:
    """Return the recorder of an order. Raises OrderError when this node has no web server."""
    url = environ.get(SITE, "").rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise OrderError(f"{SITE} is {url!r}: trajectories need the address of the web server")
    return TrajectoryRecorder(
        TrajectorySpec.of_game(game.spec),
        prepare.agents,
        TrajectorySite(url, prepare.trajectories).upload_piece,
    )
