"""What a match runner tells whoever keeps the trajectories of its matches."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from arena.policies.network_policy import FloatBatch, MaskBatch
from workers.match_in_play import MatchInPlay
from workers.wire import EndedMatch


class Recorder(Protocol):
    """Keeps the decisions of the matches in play, and holds back endings until they are stored.

    A match that was resumed elsewhere starts again from its seed: every match is told whole.
    """

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
        """Keep one decision that the game has taken; `match.n_steps` counts those before it.

        observation: as the game gives it (float32 of a network); mask: bool [A]; logits: float32
        [A] and value, if a network decided. The arrays may be rows of a block: copy what is kept.
        """
        ...

    def add_ending(
        self, match: MatchInPlay, row: EndedMatch, returns: Sequence[float] | None
    ) -> bool:
        """Take note that a match ended; return True to keep the row and give it out in `store_due`.

        returns: one float per seat when it was played to its end by the rules, else None.
        """
        ...

    def forget_match(self, match: MatchInPlay) -> None:
        """Forget a match that is played elsewhere."""
        ...

    def store_due(self, *, flush: bool) -> list[EndedMatch]:
        """Return kept rows whose piece has been stored (`trajectory` filled in), maybe none.

        flush: nothing is in play: store what there is, wait for it and return every row kept.
        Shown in the call memory as waiting: no agent and no game is charged.
        """
        ...
