"""Keeps the trajectories of the matches in hand, and lets no ending go before they are stored.

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
from workers.match_in_play import Live
from workers.order_setup import OrderError
from workers.trajectory_upload import PutError, Site
from workers.wire import EndedRow, Prepare

SITE = "EVALSITE_SITE_URL"
PIECE_MATCHES = 64
PIECE_BYTES = 1 << 22
"""Floats of a piece before it is compressed."""
PIECE_S = 2.0
"""An ending waits no longer than this for others to go with it."""

TEMPERATURE = "temperature"


class PieceRecorder:
    """Collects whole matches and puts some at a time as one Parquet piece."""

    def __init__(
        self,
        form: TrajectorySpec,
        agents: Sequence[AgentOrder],
        put: Callable[[bytes], str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep nothing yet; `put` stores a piece and returns its SHA-256, or raises PutError."""
        self._form, self._agents, self._put, self._clock = form, agents, put, clock
        self._temperatures = [temperature_of(agent) for agent in agents]
        self._steps: dict[int, list[Step]] = {}
        self._whole: list[tuple[EndedRow, Episode]] = []
        self._n_bytes = 0
        self._put_at = 0.0

    def decided(
        self,
        match: Live,
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
            step = step._replace(
                checkpoint=self._agents[agent].checkpoint,
                logits=logits.copy(),
                log_prob=self._log_prob(agent, logits, mask, action),
                value=value,
            )
        self._steps[match.index].append(step)

    def ended(self, match: Live, row: EndedRow, returns: Sequence[float] | None) -> bool:
        """Take a match that has an outcome and at least one decision; what failed is forgotten."""
        steps = self._steps.pop(match.index, [])
        if not steps or row.ending not in (Ending.DONE, Ending.FORFEIT):
            return False
        if not self._whole:
            self._put_at = self._clock() + PIECE_S
        self._whole.append((row, Episode(match.match, match.game_seed, steps, returns)))
        self._n_bytes += len(steps) * self._form.row_bytes
        return True

    def released(self, match: Live) -> None:
        """Forget a match that is played elsewhere."""
        self._steps.pop(match.index, None)

    def due(self, *, flush: bool) -> list[EndedRow]:
        """Put what waits if it is time, and return its rows; interrupted if it cannot be put."""
        if not self._whole or not (flush or self._is_due()):
            return []
        whole, self._whole, self._n_bytes = self._whole, [], 0
        episodes = sorted((episode for _, episode in whole), key=lambda episode: episode.number)
        try:
            digest = self._put(encode_episodes(episodes, self._form))
        except PutError as error:
            return [_lost(row, error) for row, _ in whole]
        return [msgspec.structs.replace(row, trajectory=digest) for row, _ in whole]

    def _is_due(self) -> bool:
        is_full = len(self._whole) >= PIECE_MATCHES or self._n_bytes >= PIECE_BYTES
        return is_full or self._clock() >= self._put_at

    def _log_prob(
        self, agent: int, logits: FloatBatch, mask: MaskBatch, action: int
    ) -> float | None:
        temperature = self._temperatures[agent]
        if temperature is None:
            return None
        return log_prob(logits, mask, action, temperature=temperature)


def _lost(row: EndedRow, error: PutError) -> EndedRow:
    return msgspec.structs.replace(
        row, ending=error.ending, ranks=[], reason=error.reason, seat=-1, detail=error.detail
    )


def temperature_of(agent: AgentOrder) -> float | None:
    """Return the temperature of the agent's softmax; None when its kind declares none."""
    declared = policies.get(agent.policy).parameters
    if TEMPERATURE not in {parameter.name for parameter in declared}:
        return None
    return float(read_parameters(agent.policy, declared, agent.parameters)[TEMPERATURE])


def open_recorder(
    prepare: Prepare, game: Game, environ: Mapping[str, str] = os.environ
) -> PieceRecorder:
    """Return the recorder of an order. Raises OrderError when this node has no web server."""
    url = environ.get(SITE, "").rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise OrderError(f"{SITE} is {url!r}: trajectories need the address of the web server")
    return PieceRecorder(
        TrajectorySpec.of_game(game.spec), prepare.agents, Site(url, prepare.trajectories).put
    )
