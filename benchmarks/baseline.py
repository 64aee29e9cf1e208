"""The way of seed document 2 without its bugs: one copy of each network, asked row by row, a loop.

It plays the games of a generated run again, from their seeds, and keeps the same trajectories.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch

from arena.games import registry as games
from arena.games.base import OVER, Game
from arena.policies import registry as policies
from arena.policies.base import Policy, Row
from arena.policies.network_policy import FloatBatch, NetworkOutput, NetworkPolicy
from arena.policies.sampling import log_prob
from arena.trajectories import Episode, Step
from inference.model import load


class Plan(NamedTuple):
    """One match of the run: its number, its seed and its agents by seat."""

    number: int
    game_seed: int
    agents: tuple[str, ...]


class Copy:
    """A private copy of a network that runs one forward per row."""

    def __init__(self, path: Path) -> None:
        """Load it, on one thread of the CPU."""
        torch.set_num_threads(1)
        self._model = load(path)
        self.state_size = self._model.state_size

    def submit(self, observations: FloatBatch, states: FloatBatch) -> NetworkOutput:
        """Return the answer at once."""
        rows = [self._row(o[None], s[None]) for o, s in zip(observations, states, strict=True)]
        return NetworkOutput(*(np.concatenate(parts) for parts in zip(*rows, strict=True)))

    def result(self, ticket: NetworkOutput) -> NetworkOutput:
        """Return it again."""
        return ticket

    def _row(self, observation: FloatBatch, state: FloatBatch) -> tuple[FloatBatch, ...]:
        with torch.inference_mode():
            said = self._model.module(torch.from_numpy(observation), torch.from_numpy(state))
        return tuple(part.numpy() for part in said)


class Loop:
    """Plays matches one after the other."""

    def __init__(self, manifest: Mapping[str, Any], checkpoints: Sequence[Path]) -> None:
        """Build the game and the agents. Raises FileNotFoundError for a checkpoint that lacks."""
        game = games.get(manifest["game"])
        self._game: Game = game.configured(manifest["game_parameters"])
        self._plies: int = manifest["opening_plies"]
        self._agents = {agent["name"]: agent for agent in manifest["agents"]}
        files = {sha256(path.read_bytes()).hexdigest(): path for path in checkpoints}
        self._policies = {name: self._policy(a, files) for name, a in self._agents.items()}
        self.n_loads = sum(bool(agent["checkpoint"]) for agent in self._agents.values())

    def _policy(self, agent: Mapping[str, Any], files: Mapping[str, Path]) -> Policy:
        policy = policies.get(agent["policy"]).build(self._game, agent["parameters"])
        if isinstance(policy, NetworkPolicy):
            if agent["checkpoint"] not in files:
                raise FileNotFoundError(
                    f"no file has the checkpoint {agent['checkpoint']} of {agent['name']}: "
                    "name the folder that has it with --checkpoints"
                )
            policy.attach(Copy(files[agent["checkpoint"]]))
        return policy

    def play(self, plan: Plan) -> Episode:
        """Play one match."""
        state = self._game.start(plan.game_seed, opening_plies=self._plies)
        steps = []
        while (seat := state.to_move()) != OVER:
            step = self._step(plan, Row(state, seat, plan.game_seed))
            steps.append(step)
            state.apply(step.action)
        return Episode(plan.number, plan.game_seed, steps, state.returns(), plan.agents)

    def _step(self, plan: Plan, row: Row) -> Step:
        name, mask = plan.agents[row.seat], row.state.legal_mask()
        policy, observation = self._policies[name], row.state.observation(row.seat)
        if not isinstance(policy, NetworkPolicy):
            return Step(row.seat, observation, mask, int(policy.act([row])[0]))
        decided = policy.decide(policy.ask([row]))
        (logits,), (value,) = decided.evaluation.logits, decided.evaluation.values
        agent, action = self._agents[name], int(decided.actions[0])
        temperature = float(agent["parameters"].get("temperature", 0.0))
        chance = log_prob(logits, mask, action, temperature=temperature)
        return Step(
            row.seat, observation, mask, action, agent["checkpoint"], logits, chance, float(value)
        )


class Played(NamedTuple):
    """The matches of a run played again, and the seconds that took."""

    episodes: list[Episode]
    seconds: float

    @property
    def n_steps(self) -> int:
        """Decisions in all."""
        return sum(len(episode.steps) for episode in self.episodes)


def play(loop: Loop, plans: Sequence[Plan]) -> Played:
    """Play all matches in a loop."""
    began = perf_counter()
    episodes = [loop.play(plan) for plan in plans]
    return Played(episodes, perf_counter() - began)


def safetensors_in(folders: Sequence[Path]) -> list[Path]:
    """Return the checkpoint files of folders."""
    return sorted(chain.from_iterable(folder.rglob("*.safetensors") for folder in folders))
