"""How far an agent of a one-seat game is ahead of each other one, on the game seeds of both."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from arena.games import registry as games
from arena.games.base import GameSpec
from matches.models import Leaderboard, Score
from matches.ratings.score_gaps import compare_on_seed
from matches.store.bulk import among

# Scores that are read, of all agents together: some 70 ms, also of a million. In the order of
# the seeds' numbers, which are hashes: any sample is as good.
MOST_ROWS = 10_000
FEWEST_SEEDS = 10
"""Of fewer, two standard errors would tell equal agents apart too often."""
N_ERRORS = 2.0
_COLUMNS = ("agent_id", "game_seed", "sequence", "score", "match_id")


class PlayedEpisode(NamedTuple):
    """An episode: its score, None after a forfeit, and its match."""

    score: float | None
    match: int


@dataclass(frozen=True)
class Lead:
    """How far an agent is ahead of another on the seeds that both have played.

    n_better, n_equal, n_worse: by the margin of the game; n_higher: seeds on which it scored higher
    by however little. n_without: seeds whose lead is not known, as one forfeited and the least
    score is not declared. mean, error: of the lead, with its standard error; None where there are
    too few seeds for it.
    """

    n_better: int
    n_equal: int
    n_worse: int
    n_higher: int
    n_without: int
    mean: float | None
    error: float | None

    @property
    def n_seeds(self) -> int:
        """How many seeds both have played."""
        return self.n_better + self.n_equal + self.n_worse

    @property
    def is_enough(self) -> bool:
        """True where there are seeds enough to tell two agents apart."""
        return self.n_seeds - self.n_without >= FEWEST_SEEDS

    @property
    def is_apart(self) -> bool:
        """True where the lead is more than two standard errors, whoever is ahead."""
        if self.mean is None or self.error is None or not self.is_enough:
            return False
        return abs(self.mean) > N_ERRORS * self.error


class Leads(NamedTuple):
    """The leads of an agent by the id of the other, and its own episodes by game seed.

    is_cut: it has played more seeds than those that were read.
    """

    by_agent: Mapping[int, Lead]
    own: Mapping[int, PlayedEpisode]
    is_cut: bool


def read_leads(board: Leaderboard, agent: int, others: Collection[int]) -> Leads:
    """Return how far an agent is ahead of each of the others: two queries."""
    spec = games.get(board.game).spec
    n_most = MOST_ROWS // (1 + len(others))
    scores = Score.objects.filter(leaderboard=board)
    rows = scores.filter(agent=agent).order_by("game_seed", "sequence").values_list(*_COLUMNS)
    first = list(rows[: n_most + 1])
    own = _group_by_agent(first[:n_most]).get(agent, {})
    # Every seed is named: one agent may have played many more than the other.
    same = scores.filter(agent__in=among(sorted(others)), game_seed__in=among(sorted(own)))
    played = _group_by_agent(same.values_list(*_COLUMNS))
    leads = {other: _compare_scores(spec, own, played.get(other, {})) for other in others}
    return Leads(leads, own, len(first) > n_most)


def _group_by_agent(
    rows: Iterable[tuple[int, int, int, float | None, int]],
) -> dict[int, dict[int, PlayedEpisode]]:
    """Return episodes by agent and game seed; of several the first in planned order."""
    episodes: dict[int, dict[int, PlayedEpisode]] = {}
    for agent, seed, _, score, match in sorted(rows, key=lambda row: row[2]):
        episodes.setdefault(agent, {}).setdefault(seed, PlayedEpisode(score, match))
    return episodes


def _compare_scores(
    spec: GameSpec, own: Mapping[int, PlayedEpisode], other: Mapping[int, PlayedEpisode]
) -> Lead:
    pairs = [(own[seed].score, other[seed].score) for seed in own.keys() & other.keys()]
    compared = [compare_on_seed(spec, *pair) for pair in pairs]
    n_better, n_equal, n_worse = (
        sum(comparison[0] == kind for comparison in compared) for kind in (1, 0, -1)
    )
    # Sorted, so that no order of adding shows in the last bit.
    leads = np.array(sorted(lead for _, lead in compared if lead is not None), np.float64)
    n = len(leads)
    return Lead(
        n_better=n_better,
        n_equal=n_equal,
        n_worse=n_worse,
        n_higher=sum(better > 0 or (lead or 0.0) > 0 for better, lead in compared),
        n_without=len(pairs) - n,
        mean=float(leads.mean()) if n else None,
        error=float(leads.std(ddof=1) / sqrt(n)) if n > 1 else None,
    )
