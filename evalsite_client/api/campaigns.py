"""Campaigns of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsite_client.api.shared import AgentName, Explanation, Forecast, Pairs
from evalsite_client.calls import Calls
from evalsite_client.figures import CampaignFigures
from evalsite_client.records import Rows


@dataclass(frozen=True)
class Campaign(CampaignFigures):
    """A tournament with a question, and its verdict once there is one.

    state: Of its tournament; planning: it chooses matches, and those chosen are played.
    max_matches: The budget in matches.
    error: The probability that the verdict may be wrong.
    margin: Agents closer than this in rating count as equal; 1 is about 45 Elo.
    is_by_scores: It compares mean scores on equal seeds, and the margin is one of scores.
    n_known: Results of the entrants known at the start.
    n_known_elsewhere: Of those: results of other leaderboards of the game.
    n_reused: Of those done: known games, not played again.
    n_judged: Results behind the latest judgement.
    n_played: Matches of its own until the verdict.
    n_round_robin: What a round robin would have needed, simulated.
    likely_statement: The likeliest answer as judged last, however sure; empty of a test.
    """

    id: int
    tournament: int
    name: str
    leaderboard: str
    state: str
    pairing: str
    weight: int
    max_matches: int
    question: str
    error: float
    margin: float
    max_core_s: float | None
    max_money: float | None
    is_by_scores: bool
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
    likely_statement: str


@dataclass(frozen=True)
class Chance:
    """How likely an entrant is the best."""

    agent: AgentName
    p_best: float


@dataclass(frozen=True)
class Ranked:
    """An entrant of the likeliest order.

    p_above_next: The probability that it is better than the next one; null for the last.
    """

    agent: AgentName
    p_above_next: float | None


@dataclass(frozen=True)
class Upset:
    """An agent, and one that it beats though that stands before it."""

    agent: AgentName
    beats: AgentName


@dataclass(frozen=True)
class Spent:
    """What the matches of a campaign have cost so far."""

    matches: int
    core_s: float
    gpu_s: float
    money: float


@dataclass(frozen=True)
class CampaignPoint:
    """What a campaign said after so many results.

    probability: Of the likeliest answer then.
    llr: Log-likelihood ratio of a sequential test.
    matches_left: Forecast then.
    """

    n_results: int
    at: datetime
    probability: float
    llr: float | None
    matches_left: float | None


@dataclass(frozen=True)
class CampaignDetail(Campaign):
    """A campaign with what is believed now, what it has cost and what it will take.

    doubts: Which assumptions of the rating model its results put in doubt, as judged last.
    parameters: Of the question; agents by name.
    subjects: The agents that the verdict names.
    likely_subjects: The agents that the likeliest answer names, as judged last.
    chances: The likeliest first; at most 200.
    ranking: Of a question about the order: the likeliest one as judged last, the best first; at
        most 200.
    upsets: Of a ranking that ended as no order: all who beat one that stands before them.
    warning: What is said of a pairing that suits the field badly, while it runs; else null.
    budget_warning: Said while it runs and its forecast is over what is left of its budget; else
        null.
    pairs: Of a sequential test, as it was judged last; else null.
    latest_point: What it said at its latest judgement; null before the first.
    saved: What did not have to be played; empty if nothing.
    why_in_words: Empty while it goes on.
    shortfall: Of one that ended without an answer: what was not reached, and what to do; else
        empty.
    """

    doubts: tuple[str, ...]
    parameters: Mapping[str, Any]
    subjects: tuple[AgentName, ...]
    likely_subjects: tuple[AgentName, ...]
    chances: tuple[Chance, ...]
    ranking: tuple[Ranked, ...]
    upsets: tuple[Upset, ...]
    spent: Spent
    warning: str | None
    budget_warning: str | None
    pairs: Pairs | None
    forecast: Forecast | None
    forecast_at: datetime | None
    latest_point: CampaignPoint | None
    saved: str
    why_in_words: str
    shortfall: str


@dataclass(frozen=True)
class Ahead:
    """What a campaign would start from and take.

    margin: In units of rating.
    n_known: Matches that are known, so not played again.
    n_known_elsewhere: Of those: on other leaderboards.
    warning: What is said of a pairing that suits the field badly.
    budget_warning: Said where the forecast is over the budget in mind; else null.
    """

    n_agents: int
    margin: float
    n_known: int
    n_known_elsewhere: int
    warning: str | None
    budget_warning: str | None
    forecast: Forecast


class Campaigns(Calls):
    """Campaigns: creating one starts it; cancelling its tournament stops it."""

    def list(
        self,
        *,
        decided: bool | None = None,
        leaderboard: str | None = None,
        question: str | None = None,
        tournament: int | None = None,
        page_size: int | None = None,
    ) -> Rows[Campaign]:
        """Yield campaigns, fetched page by page as they are asked for."""
        return self._rows(
            Campaign,
            "campaigns",
            {
                "decided": decided,
                "leaderboard": leaderboard,
                "question": question,
                "tournament": tournament,
                "page_size": page_size,
            },
        )

    def start(
        self,
        *,
        leaderboard: str,
        max_matches: int,
        agents: Sequence[str] | None = None,
        name: str = "",
        pairing: str = "",
        pairing_parameters: Mapping[str, Any] | None = None,
        weight: int = 1,
        move_s: float = 10.0,
        match_s: float = 600.0,
        is_paused: bool = False,
        question: str = "best",
        error: float = 0.05,
        margin: float | None = None,
        margin_elo: float | None = None,
        margin_points: float | None = None,
        margin_score: float | None = None,
        parameters: Mapping[str, Any] | None = None,
        max_core_s: float | None = None,
        max_money: float | None = None,
        seed: int | None = None,
        key: str | None = None,
    ) -> CampaignDetail:
        """Start a campaign.

        agents: None: all of the leaderboard, less those retired or in quarantine.
        max_matches: It ends there at the latest, with the likeliest answer.
        name: Left empty, it is named after its question.
        pairing: Who meets whom; empty: as suits the question.
        pairing_parameters: Of the pairing, such as {"best_of": 5}.
        weight: Its share of the nodes against that of others that run at the same time.
        move_s: Limit of a move, in seconds.
        match_s: Limit of a match, in seconds.
        is_paused: Only create it: it waits until somebody resumes it.
        question: What you want to know about the agents.
        error: The probability that the verdict may be wrong.
        margin: Agents closer than this in rating count as equal; 1 is about 45 Elo.
        margin_elo: The margin in Elo instead.
        margin_points: The margin in points of win rate instead.
        margin_score: For games of one seat: in mean score on equal seeds instead; may be 0.
        parameters: What the question needs, such as {"k": 3}; agents by name.
        max_core_s: The most core time it may use; empty: no limit.
        max_money: The most it may cost; empty: no limit.
        seed: Empty: a new one, so that no known game is played again.
        """
        return self._post(
            CampaignDetail,
            "campaigns",
            {
                "leaderboard": leaderboard,
                "agents": agents,
                "max_matches": max_matches,
                "name": name,
                "pairing": pairing,
                "pairing_parameters": pairing_parameters,
                "weight": weight,
                "move_s": move_s,
                "match_s": match_s,
                "is_paused": is_paused,
                "question": question,
                "error": error,
                "margin": margin,
                "margin_elo": margin_elo,
                "margin_points": margin_points,
                "margin_score": margin_score,
                "parameters": parameters,
                "max_core_s": max_core_s,
                "max_money": max_money,
                "seed": seed,
            },
            key=key,
        )

    def get(self, campaign: int) -> CampaignDetail:
        """Return one campaign."""
        return self._get(CampaignDetail, f"campaigns/{campaign}")

    def curve(self, campaign: int, *, page_size: int | None = None) -> Rows[CampaignPoint]:
        """List what it said as the evidence grew."""
        return self._rows(CampaignPoint, f"campaigns/{campaign}/curve", {"page_size": page_size})

    def explain(self, campaign: int) -> Explanation:
        """Say in which state it is, since when, what it waits for and what happens next."""
        return self._get(Explanation, f"campaigns/{campaign}/explanation")

    def forecast(
        self,
        *,
        leaderboard: str,
        agents: Sequence[str] | None = None,
        max_matches: int | None = None,
        pairing: str = "",
        pairing_parameters: Mapping[str, Any] | None = None,
        question: str = "best",
        error: float = 0.05,
        margin: float | None = None,
        margin_elo: float | None = None,
        margin_points: float | None = None,
        margin_score: float | None = None,
        parameters: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Ahead:
        """Say what a campaign would take, by what is known; none is started.

        agents: None: all of the leaderboard, less those retired or in quarantine.
        max_matches: The budget in mind: the answer warns where it will probably not suffice.
        pairing: Who meets whom; empty: as suits the question.
        pairing_parameters: Of the pairing, such as {"best_of": 5}.
        question: What you want to know about the agents.
        error: The probability that the verdict may be wrong.
        margin: Agents closer than this in rating count as equal; 1 is about 45 Elo.
        margin_elo: The margin in Elo instead.
        margin_points: The margin in points of win rate instead.
        margin_score: For games of one seat: in mean score on equal seeds instead; may be 0.
        parameters: What the question needs, such as {"k": 3}; agents by name.
        """
        return self._post(
            Ahead,
            "campaigns/forecast",
            {
                "leaderboard": leaderboard,
                "agents": agents,
                "max_matches": max_matches,
                "pairing": pairing,
                "pairing_parameters": pairing_parameters,
                "question": question,
                "error": error,
                "margin": margin,
                "margin_elo": margin_elo,
                "margin_points": margin_points,
                "margin_score": margin_score,
                "parameters": parameters,
            },
            key=key,
        )
