"""Watches of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Sequence
from dataclasses import dataclass

from evalsite_client.api.shared import Alarm
from evalsite_client.calls import Calls


@dataclass(frozen=True)
class Watched:
    """The small campaign that judges a checkpoint."""

    campaign: int
    tournament: int


@dataclass(frozen=True)
class WatchVerdict:
    """What came of the campaign of a checkpoint.

    low: Lower end of its 95 % interval.
    high: Upper end of its 95 % interval.
    ancestor: The best one, if there is any.
    probability: P(worse than the ancestor by more than the margin).
    """

    agent: str
    mu: float
    low: float
    high: float
    n_played: int
    ancestor: str | None
    probability: float | None
    margin: float | None
    alarm: Alarm | None


@dataclass(frozen=True)
class WatchedStep:
    """A checkpoint of the run that is stored.

    agent: That plays it; null: none may.
    done: Why it needs no evaluation; empty if it does.
    """

    step: int | None
    sha256: str
    agent: int | None
    done: str


@dataclass(frozen=True)
class Watch:
    """What is known of a run.

    left_alone: The newest campaign if it has a verdict but raised no alarm.
    """

    steps: tuple[WatchedStep, ...]
    left_alone: int | None


class Watches(Calls):
    """Ask whether an agent is worse than its best ancestor; what was begun goes on."""

    def create(
        self,
        *,
        agent: int,
        leaderboard: str = "",
        against: Sequence[str] | None = None,
        budget: int = 200,
        margin: float = 1.0,
        margin_score: float | None = None,
        level: float = 0.95,
        key: str | None = None,
    ) -> Watched:
        """Ask whether an agent is worse than its best ancestor; what was begun goes on.

        leaderboard: Empty: that of the game's watches.
        against: Agents that every checkpoint meets, as spelled.
        margin: In units of rating.
        margin_score: Of a game of one seat: in mean score on equal seeds, instead of the
            margin.
        level: P(worse) of an alarm.
        """
        return self._post(
            Watched,
            "watches",
            {
                "agent": agent,
                "leaderboard": leaderboard,
                "against": against,
                "budget": budget,
                "margin": margin,
                "margin_score": margin_score,
                "level": level,
            },
            key=key,
        )

    def judge(self, watche: int, *, level: float = 0.95, key: str | None = None) -> WatchVerdict:
        """Say how a campaign of a watch ended; the alarm of a regression is raised once.

        level: P(worse) of an alarm.
        """
        return self._post(WatchVerdict, f"watches/{watche}/judge", {"level": level}, key=key)

    def look(self, run: str, *, against: str | None = None, game: str | None = None) -> Watch:
        """Return which checkpoints of a run are stored, and which are judged.

        against: Agents that every checkpoint is to meet, with commas: refused if one is none.
        """
        return self._get(Watch, "watches/look", {"against": against, "game": game, "run": run})
