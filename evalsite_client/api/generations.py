"""Generations of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalsite_client.calls import Calls


@dataclass(frozen=True)
class StartedGeneration:
    """A run that has been started."""

    tournament: int
    run_key: str
    game: str
    agents: tuple[tuple[str, ...], ...]
    n_bytes: int


@dataclass(frozen=True)
class CheckedGeneration:
    """What a run would be, and what it lacks.

    agents: Name and checkpoint of each; one of them plays itself.
    n_bytes: A guess at the room that its files take.
    missing: What has to be started before it can be played.
    """

    game: str
    agents: tuple[tuple[str, ...], ...]
    n_bytes: int
    missing: tuple[str, ...]


class Generations(Calls):
    """Start a run, or go on with that of the same key."""

    def create(
        self,
        *,
        agent_a: str,
        matches: int,
        run_key: str,
        checkpoint_a: str = "",
        agent_b: str = "",
        checkpoint_b: str = "",
        game: str = "",
        game_parameters: Mapping[str, Any] | None = None,
        opening_plies: int | None = None,
        seed: int = 0,
        move_s: float = 10.0,
        match_s: float = 600.0,
        keep_days: int = 30,
        order_limit: int | None = None,
        key: str | None = None,
    ) -> StartedGeneration:
        """Start a run, or go on with that of the same key.

        agent_a: The name of an agent, or a spelling such as mcts:100.
        checkpoint_a: Of the run that A names: step, hash
        agent_b: Empty: A plays itself.
        checkpoint_b: Of the run that B names: step, hash
        game: Empty: as the names tell.
        opening_plies: Empty: the game's.
        order_limit: The most matches a node takes at a time; empty: by how long they last.
        run_key: Chosen by the client: the same key is the same tournament.
        """
        return self._post(
            StartedGeneration,
            "generations",
            {
                "agent_a": agent_a,
                "checkpoint_a": checkpoint_a,
                "agent_b": agent_b,
                "checkpoint_b": checkpoint_b,
                "game": game,
                "game_parameters": game_parameters,
                "opening_plies": opening_plies,
                "matches": matches,
                "seed": seed,
                "move_s": move_s,
                "match_s": match_s,
                "keep_days": keep_days,
                "order_limit": order_limit,
                "run_key": run_key,
            },
            key=key,
        )

    def check(
        self,
        *,
        agent_a: str,
        matches: int,
        checkpoint_a: str = "",
        agent_b: str = "",
        checkpoint_b: str = "",
        game: str = "",
        game_parameters: Mapping[str, Any] | None = None,
        opening_plies: int | None = None,
        seed: int = 0,
        move_s: float = 10.0,
        match_s: float = 600.0,
        keep_days: int = 30,
        order_limit: int | None = None,
        key: str | None = None,
    ) -> CheckedGeneration:
        """Say what a run would be and what is missing to play it; nothing is left behind.

        agent_a: The name of an agent, or a spelling such as mcts:100.
        checkpoint_a: Of the run that A names: step, hash
        agent_b: Empty: A plays itself.
        checkpoint_b: Of the run that B names: step, hash
        game: Empty: as the names tell.
        opening_plies: Empty: the game's.
        order_limit: The most matches a node takes at a time; empty: by how long they last.
        """
        return self._post(
            CheckedGeneration,
            "generations/check",
            {
                "agent_a": agent_a,
                "checkpoint_a": checkpoint_a,
                "agent_b": agent_b,
                "checkpoint_b": checkpoint_b,
                "game": game,
                "game_parameters": game_parameters,
                "opening_plies": opening_plies,
                "matches": matches,
                "seed": seed,
                "move_s": move_s,
                "match_s": match_s,
                "keep_days": keep_days,
                "order_limit": order_limit,
            },
            key=key,
        )
