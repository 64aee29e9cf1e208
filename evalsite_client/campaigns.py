"""Campaigns: tournaments with a question, which stop by themselves with a verdict."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Required, TypedDict, Unpack

from evalsite_client.decoding import decode
from evalsite_client.explanations import Explained
from evalsite_client.names import AgentName
from evalsite_client.pages import rows

ANSWERS = ("decided", "within_margin")
"""Why a campaign ended that has its answer; the others ended without."""


@dataclass(frozen=True)
class ForecastCost:
    """What the matches to the verdict cost; None while nothing was measured."""

    core_s: float | None
    gpu_s: float
    wall_s: float | None
    money: float | None


@dataclass(frozen=True)
class ForecastMore:
    """What some more matches would change: the probability of the likeliest answer now and then.

    Of a sequential test it is its log-likelihood ratio instead, llr_now and llr_then. verdict: the
    chance that they bring the verdict.
    """

    n_matches: int
    now: float | None
    then: float | None
    verdict: float
    llr_now: float | None
    llr_then: float | None


@dataclass(frozen=True)
class Forecast:
    """How many more matches the verdict takes: the median, and 10 % and 90 % of the cases.

    decided: the share of the cases that end before 10^6 matches. accepted: of a sequential test,
    the share that ends with A better; it has no round robin.
    """

    matches: float
    low: float
    high: float
    decided: float
    accepted: float | None
    round_robin: float | None
    cost: ForecastCost
    more: ForecastMore


@dataclass(frozen=True)
class Ahead:
    """What a campaign would start from and take."""

    n_agents: int
    margin: float
    n_known: int
    n_known_elsewhere: int
    forecast: Forecast


@dataclass(frozen=True)
class Campaign:
    """A tournament with a question, and its verdict once there is one.

    margin: in units of rating. n_known: matches that were known at the start, so not played again,
    n_known_elsewhere of them on other leaderboards. n_reused: of its own matches, those that were
    known games, so not played again either.
    """

    id: int
    tournament: int
    name: str
    leaderboard: str
    state: str
    question: str
    error: float
    margin: float
    pairing: str
    weight: int
    max_matches: int
    max_core_s: float | None
    max_money: float | None
    n_known: int
    n_known_elsewhere: int
    n_planned: int
    n_done: int
    n_reused: int
    n_judged: int
    judged_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    statement: str
    probability: float | None
    why: str
    decided_at: datetime | None
    n_played: int | None
    n_round_robin: float | None

    @property
    def shown_state(self) -> str:
        """Return its state in the word of people: what is planned while it plays is running."""
        return "running" if self.state == "planning" and self.n_planned else self.state

    @property
    def is_over(self) -> bool:
        """Return whether it has ended, with an answer or without."""
        return self.decided_at is not None

    @property
    def is_answered(self) -> bool:
        """Return whether the question is answered as surely as was asked for."""
        return self.why in ANSWERS


@dataclass(frozen=True)
class Chance:
    """How likely an entrant is the best."""

    agent: AgentName
    p_best: float


@dataclass(frozen=True)
class Spent:
    """What the matches of a campaign have cost so far."""

    matches: int
    core_s: float
    gpu_s: float
    money: float


@dataclass(frozen=True)
class Strength:
    """A difference in points of Elo, with its interval of 95 %."""

    elo: float
    low: float
    high: float


@dataclass(frozen=True)
class Pairs:
    """What the paired blocks of a sequential test say, for the first of the two agents.

    blocks: those with 0, 1/2, 1, 3/2 and 2 points of two games. score: the mean, 0 to 1. split: the
    draw ratio, of blocks with one point each. los: P(the first is better).
    """

    blocks: tuple[int, ...]
    n_blocks: int
    score: float
    split: float
    elo: Strength
    normalised: Strength | None
    los: float


@dataclass(frozen=True)
class CampaignDetail(Campaign):
    """A campaign with what is believed now, what it has cost and what it will take.

    chances: the likeliest first. subjects: the agents that the verdict names. warning:
    of a pairing that suits the field badly. pairs: of a sequential test, as it was judged last.
    """

    parameters: Mapping[str, Any]
    subjects: tuple[AgentName, ...]
    chances: tuple[Chance, ...]
    spent: Spent
    warning: str | None
    pairs: Pairs | None
    forecast: Forecast | None
    forecast_at: datetime | None


@dataclass(frozen=True)
class CampaignPoint:
    """What a campaign said after so many results; llr: of a sequential test."""

    n_results: int
    at: datetime
    probability: float
    llr: float | None
    matches_left: float | None


class CampaignQuestion(TypedDict, total=False):
    """What is asked of whom: the leaderboard and the agents by name, none for all of it.

    margin: a gap that makes no difference, in rating, or in Elo or points of win rate instead.
    """

    leaderboard: Required[str]
    agents: Sequence[str]
    question: str
    error: float
    margin: float | None
    margin_elo: float | None
    margin_points: float | None
    parameters: Mapping[str, Any]


class NewCampaign(CampaignQuestion, total=False):
    """A campaign to start, with its budget; pairing: empty for the one that suits the question."""

    max_matches: Required[int]
    max_core_s: float | None
    max_money: float | None
    name: str
    pairing: str
    pairing_parameters: Mapping[str, Any]
    seed: int | None
    weight: int
    move_s: float
    match_s: float
    is_paused: bool


class CampaignFilter(TypedDict, total=False):
    """Which campaigns to list; leaderboard: its name; decided: whether it has ended."""

    leaderboard: str
    tournament: int
    question: str
    decided: bool


class CampaignCalls(Explained):
    """The calls of the API."""

    path = "campaigns"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[CampaignFilter]
    ) -> Iterator[Campaign]:
        """Yield campaigns, the newest first."""
        return rows(self._transport, self.path, Campaign, {**wanted, "page_size": page_size})

    def get(self, campaign: int) -> CampaignDetail:
        """Return one campaign."""
        return decode(CampaignDetail, self._transport.get(f"{self.path}/{campaign}"))

    def curve(self, campaign: int, *, page_size: int | None = None) -> Iterator[CampaignPoint]:
        """Yield what it said as the evidence grew."""
        path, wanted = f"{self.path}/{campaign}/curve", {"page_size": page_size}
        return rows(self._transport, path, CampaignPoint, wanted)

    def forecast(self, *, key: str | None = None, **wanted: Unpack[CampaignQuestion]) -> Ahead:
        """Return what a campaign would take, by what is known; none is started."""
        return decode(Ahead, self._transport.post(f"{self.path}/forecast", wanted, key=key))

    def start(self, *, key: str | None = None, **wanted: Unpack[NewCampaign]) -> CampaignDetail:
        """Start a campaign; cancelling its tournament stops it."""
        return decode(CampaignDetail, self._transport.post(self.path, wanted, key=key))
