"""The way of seed document 2 without its bugs: one copy of each network, asked row by row, a loop.

It plays the games of a generated run again, from their seeds, and keeps the same trajectories.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from arena.games import registry as games
from arena.games.base import OVER
from arena.policies import registry as policies
from arena.policies.base import Policy, Row
from arena.policies.network_policy import NetworkPolicy
from arena.policies.sampling import log_prob
from arena.trajectories import Episode, Step
from benchmarks.networks import Copy


class Plan(NamedTuple):
    """One match of the run: its number, its seed and its agents by seat."""

    number: int
    game_seed: int
    agents: tuple[str, ...]


class Loop:
    def __init__(self, manifest: Mapping[str, Any], checkpoints: Sequence[Path]) -> None:
        """Build the game and the agents. Raises FileNotFoundError for a checkpoint that lacks."""
        self._game = games.get(manifest["game"]).configured(manifest["game_parameters"])
        self._plies: int = manifest["opening_plies"]
        self._agents = {agent["name"]: agent for agent in manifest["agents"]}
        # A manifest names checkpoints by their content, as files may have been moved.
        files = {sha256(path.read_bytes()).hexdigest(): path for path in checkpoints}
        self._policies = {
            name: self._build_policy(agent, files) for name, agent in self._agents.items()
        }

    def _build_policy(self, agent: Mapping[str, Any], files: Mapping[str, Path]) -> Policy:
        policy = policies.get(agent["policy"]).build(self._game, agent["parameters"])
        if isinstance(policy, NetworkPolicy):
            if agent["checkpoint"] not in files:
                raise FileNotFoundError(
                    f"no file has the checkpoint {agent['checkpoint']} of {agent['name']}: "
                    "name the folder that has it with --checkpoints"
                )
            policy.attach(Copy(files[agent["checkpoint"]]))
        return policy

    def play_all(self, plans: Sequence[Plan]) -> tuple[list[Episode], float]:
        """Play all matches; return them and the seconds that took."""
        began = perf_counter()
        episodes = []
        for plan in plans:
            state, steps = self._game.start(plan.game_seed, opening_plies=self._plies), []
            # One decision after the other: this is the way that batches are compared with.
            while (seat := state.to_move()) != OVER:
                steps.append(self.decide(plan, Row(state, seat, plan.game_seed)))
                state.apply(steps[-1].action)
            episodes.append(
                Episode(plan.number, plan.game_seed, steps, state.returns(), plan.agents)
            )
        return episodes, perf_counter() - began

    def decide(self, plan: Plan, row: Row) -> Step:
        """Return the step of the agent whose turn it is, with all that a trajectory keeps."""
        name, mask = plan.agents[row.seat], row.state.legal_mask()
        policy, observation = self._policies[name], row.state.observation(row.seat)
        # Searching and random agents leave no logits in a trajectory.
        if not isinstance(policy, NetworkPolicy):
            return Step(row.seat, observation, mask, int(policy.act([row])[0]))
        decided = policy.decide(policy.ask([row]))
        (logits,), (value,) = decided.evaluation.logits, decided.evaluation.values
        agent, action = self._agents[name], int(decided.actions[0])
        # A greedy agent has no temperature among its parameters.
        temperature = float(agent["parameters"].get("temperature", 0.0))
        chance = log_prob(logits, mask, action, temperature=temperature)
        return Step(
            row.seat, observation, mask, action, agent["checkpoint"], logits, chance, float(value)
        )
