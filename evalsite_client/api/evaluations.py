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
        seed: int = 0,
        move_s: float = 2.0,
        match_s: float = 600.0,
        faults: Any | None = None,
        key: str | None = None,
    ) -> Started:
        """Start a tournament between agents as they are spelled.

        agents: Such as alphabeta:4, the name of an agent, or the hash of a checkpoint.
        num_agents: Without agents: so many.
        leaderboard: Empty: one of their own.
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
                "seed": seed,
                "move_s": move_s,
                "match_s": match_s,
                "faults": faults,
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
        seed: int = 0,
        move_s: float = 2.0,
        match_s: float = 600.0,
        faults: Any | None = None,
        key: str | None = None,
    ) -> Started:
        """Say whether it could start; nothing is left behind, and its ids mean nothing.

        agents: Such as alphabeta:4, the name of an agent, or the hash of a checkpoint.
        num_agents: Without agents: so many.
        leaderboard: Empty: one of their own.
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
                "seed": seed,
                "move_s": move_s,
                "match_s": match_s,
                "faults": faults,
            },
            key=key,
        )
