"""Evaluations of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsite_client.calls import Calls


@dataclass(frozen=True)
class Started:
    """A tournament that has been started.

    warning: What the number of matches keeps the pairing from.
    """

    tournament: int
    leaderboard: str
    n_agents: int
    warning: str | None


class Evaluations(Calls):
    """Start a tournament between agents as they are spelled."""

    def create(
        self,
        *,
        game: str,
        n_matches: int,
        agents: Sequence[str] | None = None,
        num_agents: int = 10,
        leaderboard: str = "",
        game_parameters: Mapping[str, Any] | None = None,
        pairing: str = "random",
        pairing_parameters: Mapping[str, Any] | None = None,
        weight: int = 1,
        move_s: float = 2.0,
        match_s: float = 600.0,
        seed: int = 0,
        faults: Any | None = None,
        keeps_trajectories: bool = False,
        trajectory_days: int | None = None,
        order_limit: int | None = None,
        key: str | None = None,
    ) -> Started:
        """Start a tournament between agents as they are spelled.

        agents: Such as alphabeta:4, the name of an agent, or the hash of a checkpoint.
        num_agents: Without agents: so many.
        leaderboard: Empty: one of their own.
        n_matches: The most matches; it ends earlier where its pairing is complete.
        pairing: Who meets whom.
        pairing_parameters: Of the pairing, such as {"best_of": 5}.
        weight: Its share of the nodes against that of others that run at the same time.
        move_s: Limit of a move, in seconds.
        match_s: Limit of a match, in seconds.
        seed: The seed set: the same number replays the same pairings and games.
        faults: Faults to emulate, to try the platform; usually empty.
        keeps_trajectories: Store observation, action, reward ... of every decision.
        trajectory_days: Delete them after so many days; empty: never.
        order_limit: The most matches a node takes at a time; empty: by how long they last.
        """
        return self._post(
            Started,
            "evaluations",
            {
                "game": game,
                "agents": agents,
                "num_agents": num_agents,
                "leaderboard": leaderboard,
                "game_parameters": game_parameters,
                "n_matches": n_matches,
                "pairing": pairing,
                "pairing_parameters": pairing_parameters,
                "weight": weight,
                "move_s": move_s,
                "match_s": match_s,
                "seed": seed,
                "faults": faults,
                "keeps_trajectories": keeps_trajectories,
                "trajectory_days": trajectory_days,
                "order_limit": order_limit,
            },
            key=key,
        )

    def check(
        self,
        *,
        game: str,
        n_matches: int,
        agents: Sequence[str] | None = None,
        num_agents: int = 10,
        leaderboard: str = "",
        game_parameters: Mapping[str, Any] | None = None,
        pairing: str = "random",
        pairing_parameters: Mapping[str, Any] | None = None,
        weight: int = 1,
        move_s: float = 2.0,
        match_s: float = 600.0,
        seed: int = 0,
        faults: Any | None = None,
        keeps_trajectories: bool = False,
        trajectory_days: int | None = None,
        order_limit: int | None = None,
        key: str | None = None,
    ) -> Started:
        """Say whether it could start; nothing is left behind, and its ids mean nothing.

        agents: Such as alphabeta:4, the name of an agent, or the hash of a checkpoint.
        num_agents: Without agents: so many.
        leaderboard: Empty: one of their own.
        n_matches: The most matches; it ends earlier where its pairing is complete.
        pairing: Who meets whom.
        pairing_parameters: Of the pairing, such as {"best_of": 5}.
        weight: Its share of the nodes against that of others that run at the same time.
        move_s: Limit of a move, in seconds.
        match_s: Limit of a match, in seconds.
        seed: The seed set: the same number replays the same pairings and games.
        faults: Faults to emulate, to try the platform; usually empty.
        keeps_trajectories: Store observation, action, reward ... of every decision.
        trajectory_days: Delete them after so many days; empty: never.
        order_limit: The most matches a node takes at a time; empty: by how long they last.
        """
        return self._post(
            Started,
            "evaluations/check",
            {
                "game": game,
                "agents": agents,
                "num_agents": num_agents,
                "leaderboard": leaderboard,
                "game_parameters": game_parameters,
                "n_matches": n_matches,
                "pairing": pairing,
                "pairing_parameters": pairing_parameters,
                "weight": weight,
                "move_s": move_s,
                "match_s": match_s,
                "seed": seed,
                "faults": faults,
                "keeps_trajectories": keeps_trajectories,
                "trajectory_days": trajectory_days,
                "order_limit": order_limit,
            },
            key=key,
        )
