"""What a dataset may ask for."""

from dataclasses import dataclass
from datetime import datetime
from math import inf

from experience.datasets.episodes import Episode

MOST_STEPS = 5_000_000
SHARD_STEPS = 50_000


@dataclass(frozen=True)
class NewDataset:
    """A dataset to be built; what is left out leaves nothing out.

    since, until: when uploads were written to a file, or matches ended. users, versions, returns
    are of uploads; the rest is of matches: whose decisions (agents, or the `top` best of a board),
    against whom, with which results (win, draw, loss).
    """

    name: str
    game: str
    source: str = "experience"
    since: datetime | None = None
    until: datetime | None = None
    users: tuple[str, ...] = ()
    min_version: int | None = None
    max_version: int | None = None
    min_return: float | None = None
    max_return: float | None = None
    leaderboard: str = ""
    tournaments: tuple[int, ...] = ()
    agents: tuple[str, ...] = ()
    top: int | None = None
    opponents: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    most_steps: int = MOST_STEPS
    shard_steps: int = SHARD_STEPS


@dataclass(frozen=True)
class EpisodeFilter:
    """Which whole episodes of uploads are taken."""

    users: frozenset[int]
    versions: tuple[float, float]
    returns: tuple[float, float]

    @classmethod
    def read(cls, query: dict[str, object]) -> "EpisodeFilter":
        """Return what the query of a dataset says."""

        def bounds(name: str) -> tuple[float, float]:
            low, high = query.get(f"min_{name}"), query.get(f"max_{name}")
            return (-inf if low is None else float(str(low))), (
                inf if high is None else float(str(high))
            )

        keys = query.get("user_keys") or ()
        assert isinstance(keys, list | tuple)
        return cls(frozenset(map(int, keys)), bounds("version"), bounds("return"))

    def takes(self, episode: Episode) -> bool:
        """Say whether all of an episode is what was asked for."""
        if self.users and episode[0].user not in self.users:
            return False
        low, high = self.versions
        if not all(low <= piece.policy_version <= high for piece in episode):
            return False
        low, high = self.returns
        return low <= sum(piece.total for piece in episode) <= high
