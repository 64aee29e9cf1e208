"""What a table tells whoever keeps the trajectories of its matches."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from arena.policies.network_policy import FloatBatch, MaskBatch
from workers.match_in_play import Live
from workers.wire import EndedRow


class Recorder(Protocol):
    """Keeps the decisions of the matches in hand, and holds back endings until they are stored.

    A match that was resumed elsewhere starts again from its seed: every match is told whole.
    """

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
        """Keep one decision that the game has taken; `match.n_steps` counts those before it.

        observation: as the game gives it (float32 of a network); mask: bool [A]; logits: float32
        [A] and value, if a network decided. The arrays may be rows of a block: copy what is kept.
        """
        ...

    def ended(self, match: Live, row: EndedRow, returns: Sequence[float] | None) -> bool:
        """Take note that a match ended; return True to keep the row and give it out in `due`.

        returns: one float per seat when it was played to its end by the rules, else None.
        """
        ...

    def released(self, match: Live) -> None:
        """Forget a match that is played elsewhere."""
        ...

    def due(self, *, flush: bool) -> list[EndedRow]:
        """Return kept rows whose piece has been put (`trajectory` filled in), maybe none.

        flush: nothing is in play: put what there is, wait for it and return every row kept.
        Shown on the beacon as waiting: no agent and no game is charged.
        """
        ...
