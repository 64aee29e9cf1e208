"""Tournaments of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from evalsite_client.api.shared import AgentName, Column, Explanation
from evalsite_client.calls import Calls
from evalsite_client.figures import TournamentFigures
from evalsite_client.records import Rows

TournamentState = Literal["scheduled", "planning", "running", "paused", "done", "cancelled"]


@dataclass(frozen=True)
class Tournament(TournamentFigures):
    """A tournament and how far it is; n_done includes forfeits.

    n_matches: The most matches; it ends earlier where its pairing is complete.
    weight: Its share of the nodes against that of others that run at the same time.
    seed: The seed set: the same number replays the same pairings and games.
    faults: Faults to emulate, to try the platform; usually empty.
    is_rated: Unrated outcomes change no rating; only then may an agent play itself.
    replays: Play again what is known, to see that it comes out the same.
    keeps_trajectories: Store observation, action, reward ... of every decision.
    trajectory_days: Delete them after so many days; empty: never.
    order_limit: The most matches a node takes at a time; empty: by how long they last.
    state: planning: matches are chosen or written; those that are, are played.
    n_known: Of those done: known from an earlier tournament, so not played again.
    n_differing: Of those done: played again, and came out otherwise than before.
    n_void: Without those that are played again.
    n_replaced: Void ones that are played again.
    n_refused: Reports that came late, doubled or without a token.
    mean_match_s: Measured length of a match; sizes the orders.
    problem: Why it could not be planned.
    """

    id: int
    leaderboard: str
    name: str
    n_matches: int
    pairing: str
    pairing_parameters: Mapping[str, Any]
    weight: int
    move_s: float
    match_s: float
    seed: int
    faults: Any
    is_rated: bool
    replays: bool
    keeps_trajectories: bool
    trajectory_days: int | None
    order_limit: int | None
    state: TournamentState
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    n_planned: int
    n_done: int
    n_known: int
    n_differing: int
    n_forfeits: int
    n_void: int
    n_cancelled: int
    n_replaced: int
    n_retried: int
    n_refused: int
    mean_match_s: float | None
    problem: str


@dataclass(frozen=True)
class TournamentDetail(Tournament):
    """A tournament with the first of those who take part."""

    agents: tuple[AgentName, ...]


@dataclass(frozen=True)
class Entrant:
    """An agent's place in a tournament."""

    position: int
    agent: AgentName


@dataclass(frozen=True)
class ShardAgent:
    """An agent of a run, and its results by seat: wins, draws and losses.

    Of a game of one seat: episodes, forfeits, and mean and standard deviation of the returns.
    """

    name: str
    policy: str
    parameters: Mapping[str, Any]
    checkpoint: str
    architecture: str
    run: str
    step: int | None
    seats: Mapping[str, Any]


@dataclass(frozen=True)
class ShardManifest:
    """What is in the shards of a tournament that can be had.

    is_complete: False: more shards will come.
    trajectories: The format of the files.
    versions: Of the packages that the content depends on.
    """

    format: str
    is_complete: bool
    game: str
    game_parameters: Mapping[str, Any]
    rules_version: int
    opening_plies: int
    seed: int
    is_self_play: bool
    agents: tuple[ShardAgent, ...]
    matches: int
    matches_without_outcome: int
    forfeits: int
    illegal_actions: int
    trajectories: str
    observation_shape: tuple[int, ...]
    n_actions: int
    schema: tuple[Column, ...]
    versions: Mapping[str, Any]


@dataclass(frozen=True)
class Differing:
    """A match that came out otherwise than the same game before."""

    match: int
    first: int


@dataclass(frozen=True)
class Accuracy:
    """How well ratings order agents of known level, 0 to 1."""

    seed: float | None
    strict: float | None


@dataclass(frozen=True)
class ClassUse:
    """What one class of machines was used for.

    machine_class: The label class; empty: nodes without one.
    unpriced_hours: Of these: of nodes of unknown price.
    money: Empty: no price is known.
    thrown_hours: Slot-hours played that nothing came of.
    """

    machine_class: str
    node_hours: float
    unpriced_hours: float
    money: float | None
    thrown_hours: float


@dataclass(frozen=True)
class NodeReport:
    """What a tournament took of nodes, by its orders that have ended.

    node_hours: Of nodes while they had an order of it.
    unpriced_hours: Of these: of nodes of unknown price.
    money: Empty: no price is known.
    saved: What its spot nodes would have cost more on demand; empty: not known.
    thrown_hours: Slot-hours played that nothing came of.
    thrown_share: Of the slot-hours that were played.
    """

    classes: tuple[ClassUse, ...]
    node_hours: float
    unpriced_hours: float
    money: float | None
    saved: float | None
    thrown_hours: float
    thrown_share: float | None


@dataclass(frozen=True)
class EntrantRating:
    """The rating of an agent that took part, ranked among those who did.

    mu: Settled rating: posterior mode.
    sd: Its doubt, as it bears on ranks: not how far apart all are.
    low: Lower end of its 95 % interval.
    high: Upper end of its 95 % interval.
    live_mu: TrueSkill, update by update.
    mean_score: Over the game seeds it has played.
    score_low: Lower end of its 95 % interval.
    score_high: Upper end of its 95 % interval.
    """

    rank: int
    agent: AgentName
    mu: float
    sd: float
    low: float
    high: float
    live_mu: float
    n_matches: int
    n_wins: int
    n_draws: int
    n_losses: int
    n_forfeits: int
    mean_score: float | None
    score_low: float | None
    score_high: float | None


@dataclass(frozen=True)
class Report:
    """What a tournament came to so far.

    is_rated: Whether all that was played is rated.
    failure_details: What they said, the most frequent first.
    accuracy: Of the test game only.
    ratings: Of those who took part, the best first.
    """

    tournament: int
    is_rated: bool
    play_s: float
    void_reasons: Mapping[str, Any]
    forfeit_reasons: Mapping[str, Any]
    failed_attempts: Mapping[str, Any]
    interrupted_attempts: Mapping[str, Any]
    failure_details: Mapping[str, Any]
    differing: tuple[Differing, ...]
    accuracy: Accuracy | None
    warning: str | None
    nodes: NodeReport
    ratings: tuple[EntrantRating, ...]


class Tournaments(Calls):
    """Tournaments: creating one schedules it, and starts it unless it is to wait."""

    def list(
        self,
        *,
        leaderboard: str | None = None,
        state: TournamentState | None = None,
        page_size: int | None = None,
    ) -> Rows[Tournament]:
        """Yield tournaments, fetched page by page as they are asked for."""
        return self._rows(
            Tournament,
            "tournaments",
            {"leaderboard__name": leaderboard, "state": state, "page_size": page_size},
        )

    def schedule(
        self,
        *,
        leaderboard: str,
        agents: Sequence[int],
        name: str,
        n_matches: int,
        pairing: str = "double_round_robin",
        pairing_parameters: Mapping[str, Any] | None = None,
        weight: int = 1,
        move_s: float = 10.0,
        match_s: float = 600.0,
        is_paused: bool = False,
        seed: int = 0,
        faults: Any | None = None,
        is_rated: bool = True,
        replays: bool = False,
        keeps_trajectories: bool = False,
        trajectory_days: int | None = None,
        order_limit: int | None = None,
        key: str | None = None,
    ) -> TournamentDetail:
        """Schedule a tournament.

        name: Its name in lists and titles.
        n_matches: The most matches; it ends earlier where its pairing is complete.
        pairing: Who meets whom.
        pairing_parameters: Of the pairing, such as {"best_of": 5}.
        weight: Its share of the nodes against that of others that run at the same time.
        move_s: Limit of a move, in seconds.
        match_s: Limit of a match, in seconds.
        is_paused: Only create it: it waits until somebody resumes it.
        seed: The seed set: the same number replays the same pairings and games.
        faults: Faults to emulate, to try the platform; usually empty.
        is_rated: Unrated outcomes change no rating; only then may an agent play itself.
        replays: Play again what is known, to see that it comes out the same.
        keeps_trajectories: Store observation, action, reward ... of every decision.
        trajectory_days: Delete them after so many days; empty: never.
        order_limit: The most matches a node takes at a time; empty: by how long they last.
        """
        return self._post(
            TournamentDetail,
            "tournaments",
            {
                "leaderboard": leaderboard,
                "agents": agents,
                "name": name,
                "n_matches": n_matches,
                "pairing": pairing,
                "pairing_parameters": pairing_parameters,
                "weight": weight,
                "move_s": move_s,
                "match_s": match_s,
                "is_paused": is_paused,
                "seed": seed,
                "faults": faults,
                "is_rated": is_rated,
                "replays": replays,
                "keeps_trajectories": keeps_trajectories,
                "trajectory_days": trajectory_days,
                "order_limit": order_limit,
            },
            key=key,
        )

    def get(self, tournament: int) -> TournamentDetail:
        """Return one tournament."""
        return self._get(TournamentDetail, f"tournaments/{tournament}")

    def agents(self, tournament: int, *, page_size: int | None = None) -> Rows[Entrant]:
        """List who takes part, by position."""
        return self._rows(Entrant, f"tournaments/{tournament}/agents", {"page_size": page_size})

    def cancel(self, tournament: int, *, key: str | None = None) -> TournamentDetail:
        """Cancel every match that is still open; cancelling again changes nothing."""
        return self._post(TournamentDetail, f"tournaments/{tournament}/cancel", key=key)

    def explain(self, tournament: int) -> Explanation:
        """Say in which state it is, since when, what it waits for and what happens next."""
        return self._get(Explanation, f"tournaments/{tournament}/explanation")

    def extend(
        self, tournament: int, *, n_matches: int, key: str | None = None
    ) -> TournamentDetail:
        """Let it have so many matches in all; one that was done goes on.

        n_matches: In all, those it has had included.
        """
        return self._post(
            TournamentDetail, f"tournaments/{tournament}/extend", {"n_matches": n_matches}, key=key
        )

    def manifest(self, tournament: int, matches_per_shard: int) -> ShardManifest:
        """Say what is in the shards that can be had."""
        return self._get(
            ShardManifest,
            f"tournaments/{tournament}/manifest",
            {"matches_per_shard": matches_per_shard},
        )

    def pause(self, tournament: int, *, key: str | None = None) -> TournamentDetail:
        """Send no more of its matches; those sent already are played to their end."""
        return self._post(TournamentDetail, f"tournaments/{tournament}/pause", key=key)

    def report(self, tournament: int) -> Report:
        """Return what it came to so far: reasons, and the ratings of those who take part."""
        return self._get(Report, f"tournaments/{tournament}/report")

    def resume(self, tournament: int, *, key: str | None = None) -> TournamentDetail:
        """Go on with a paused tournament."""
        return self._post(TournamentDetail, f"tournaments/{tournament}/resume", key=key)

    def start(self, tournament: int, *, key: str | None = None) -> TournamentDetail:
        """Begin with a tournament that was scheduled as paused; the same as resume."""
        return self._post(TournamentDetail, f"tournaments/{tournament}/start", key=key)
