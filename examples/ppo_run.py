"""Write a run's files as CleanRL's ppo.py names and saves them: for trying the commands of README.

The agents are not trained; each has a step more of random change than the one before.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from arena.games import registry as games

STEPS = (1000, 2000, 3000)
WIDTH = 64


class Agent(nn.Module):
    """The agent of ppo.py: names and layers as there."""

    def __init__(self, n_inputs: int, n_actions: int) -> None:
        """Take the sizes of the observation and of the policy."""
        super().__init__()
        self.critic = _make_layers(n_inputs, 1)
        self.actor = _make_layers(n_inputs, n_actions)


def _make_layers(n_inputs: int, n_outputs: int) -> nn.Sequential:
    hidden = (nn.Linear(n_inputs, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh())
    return nn.Sequential(*hidden, nn.Linear(WIDTH, n_outputs))


def write_run(folder: Path, game: str = "connect_four") -> list[Path]:
    """Write one file per step; the same files each time."""
    spec = games.get(game).spec
    generator = torch.Generator().manual_seed(1)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        agent = Agent(torch.Size(spec.observation_shape).numel(), spec.n_actions)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for step in STEPS:
        with torch.no_grad():
            for tensor in agent.parameters():
                tensor.add_(0.1 * torch.randn(tensor.shape, generator=generator))
        paths.append(folder / f"ppo_{step}.cleanrl_model")
        torch.save(agent.state_dict(), paths[-1])
    return paths


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files and name them."""
    parser = argparse.ArgumentParser(prog="python -m examples.ppo_run", description=__doc__)
    parser.add_argument("folder", type=Path)
    for path in write_run(parser.parse_args(arguments).folder):
        print(path)


if __name__ == "__main__":
    main()
