"""Quality: the matches most likely to be drawn, by TrueSkill's formula (seed document 1).

Good for a spread field, worse than random for a close one: neighbours that meet only each other
make a chain, and long distances along it are guessed. Those that played least are paired first, or
the same few pairs would meet for ever.
"""

import numpy as np

from arena.pairing.adaptive import Adaptive
from arena.pairing.base import Lineup, Standing
from arena.pairing.matching import count_agent_results, count_in_flight
from arena.ratings.base import BETA
from arena.ratings.counts import Floats

_TIE_BREAK = 1e-9


class _Quality(Adaptive):
    id = "quality"
    title = "TrueSkill quality"

    def warning(self, standing: Standing) -> str | None:
        if standing.spread >= BETA or standing.counts.n_results == 0:
            return None
        return (
            f"This field is close (skills spread by {standing.spread:.1f}, a match by {BETA:.1f}): "
            "pairing by quality needs more matches here than random pairing; "
            "choose order_information."
        )

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        quality = draw_quality(standing) / (1 + count_in_flight(standing))
        quality *= 1 + _TIE_BREAK * rng.random(quality.shape)
        played = count_agent_results(standing) + rng.random(standing.field.n_agents)
        n_seats = standing.field.n_seats
        chosen: list[Lineup] = []
        while len(chosen) < n_blocks:
            round_ = _draw_round(quality, played, n_seats)[: n_blocks - len(chosen)]
            # A pair that is planned is worth half as much, so that the next round has others.
            for lineup in round_:
                quality[np.ix_(lineup, lineup)] /= 2
                # A block is n_seats matches, and each gives an agent n_seats - 1 results.
                played[list(lineup)] += n_seats * (n_seats - 1)
            chosen += round_
        return chosen


def draw_quality(standing: Standing) -> Floats:
    """Return sqrt(2 beta^2 / c^2) exp(-d^2 / 2c^2), c^2 = 2 beta^2 + sd_i^2 + sd_j^2: [n, n]."""
    gap, variance = standing.mu[:, None] - standing.mu, standing.sd**2
    # What two performances and two unsure skills add to the variance of their difference.
    total = 2 * BETA**2 + variance[:, None] + variance
    quality: Floats = np.sqrt(2 * BETA**2 / total) * np.exp(-(gap**2) / (2 * total))
    return quality


def _draw_round(quality: Floats, played: Floats, n_seats: int) -> list[Lineup]:
    """Return disjoint lineups: those that played least choose first."""
    is_free = np.ones(len(played), bool)
    lineups: list[Lineup] = []
    for agent in np.argsort(played).tolist():
        if is_free[agent] and is_free.sum() >= n_seats:
            members = [agent]
            while len(members) < n_seats:
                is_free[members] = False
                worth = np.where(is_free, quality[members].sum(axis=0), -1.0)
                members.append(int(worth.argmax()))
            is_free[members] = False
            lineups.append(tuple(members))
    return lineups


PAIRING = _Quality()
