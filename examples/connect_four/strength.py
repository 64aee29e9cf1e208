"""Measure how strong checkpoints are, without a server: a table of win rates.

    python -m examples.connect_four.strength FOLDER --against random,alphabeta:2 --matches 200

Two agents meet on the same seeded openings in both seats; a draw counts half a win.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from arena.games import registry as games
from arena.games.base import OVER, State
from arena.policies import registry as policies
from arena.policies.base import Policy, Row
from arena.policies.network_policy import FloatBatch, NetworkOutput, NetworkPolicy
from arena.policies.spec import parse_policy, split_policies
from arena.seeding import derive
from inference.model import load

GAME = games.get("connect_four")
N_SEATS = 2


class InProcess:
    """A checkpoint that answers here and now: what the policy `network` asks."""

    state_size = 0

    def __init__(self, path: Path) -> None:
        self._module = load(path).module

    def submit(self, observations: FloatBatch, states: FloatBatch) -> NetworkOutput:
        """Answer at once."""
        blocks = torch.from_numpy(observations), torch.from_numpy(states)
        logits, values, after = self._module(*blocks)
        return NetworkOutput(logits.numpy(), values.numpy(), after.numpy())

    def result(self, ticket: NetworkOutput) -> NetworkOutput:
        """Return the answer."""
        return ticket


def network(path: Path, *, temperature: float) -> NetworkPolicy:
    """Return the policy of a checkpoint, as an agent of that temperature plays it."""
    policy = policies.get("network").build(GAME, {"temperature": temperature})
    assert isinstance(policy, NetworkPolicy)
    policy.attach(InProcess(path))
    return policy


def spelled(text: str) -> Policy:
    """Return a policy as spelled on the command line, such as `alphabeta:2`."""
    kind, parameters = parse_policy(text)
    return policies.get(kind).build(GAME, parameters)


def meet(first: Policy, second: Policy, *, n_matches: int, seed: int) -> float:
    """Return the share of points that the first wins; all matches go on together."""
    matches = [_match(number, seed) for number in range(n_matches)]
    running = matches
    while running:
        for turn, policy in enumerate((first, second)):
            rows = [row for row, seat in running if (row.seat == seat) == (turn == 0)]
            _act(policy, [row for row in rows if row.seat != OVER])
        running = [(row, seat) for row, seat in running if row.seat != OVER]
    returns = [row.state.returns()[seat] for row, seat in matches]
    return float(np.mean(returns)) / 2 + 1 / 2


def _match(number: int, seed: int) -> tuple[Row, int]:
    """Return an opened match and the seat of the first policy; pairs share an opening."""
    game_seed = derive("strength", seed, number // N_SEATS)
    state: State = GAME.start(game_seed, opening_plies=GAME.spec.opening_plies)
    return Row(state, state.to_move(), game_seed), number % N_SEATS


def _act(policy: Policy, rows: Sequence[Row]) -> None:
    """Play one action in each state; the rows go on to the seat that is to move then."""
    for row, action in zip(rows, policy.act(rows), strict=True):
        row.state.apply(action)
        row.seat = row.state.to_move()


def main() -> None:
    """Print the table of a folder, in the order of the files' names."""
    options = _options()
    torch.set_num_threads(1)
    opponents = split_policies(options.against)
    print(f"| checkpoint | {' | '.join(opponents)} | the one before |")
    print(f"|---{'|--:' * (len(opponents) + 1)}|")
    before: NetworkPolicy | None = None
    for path in sorted(options.folder.glob("*.safetensors")):
        policy = network(path, temperature=options.temperature)
        met = [spelled(text) for text in opponents] + ([before] if before else [])
        shares = [meet(policy, one, n_matches=options.matches, seed=options.seed) for one in met]
        shown = [f"{share:.2f}" for share in shares] + ([] if before else [""])
        print(f"| {path.stem} | {' | '.join(shown)} |", flush=True)
        before = policy


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.connect_four.strength")
    parser.add_argument("folder", type=Path, help="of checkpoints (*.safetensors)")
    parser.add_argument("--against", default="random,greedy,alphabeta:2,alphabeta:4")
    parser.add_argument("--matches", type=int, default=200, help="of each two (200)")
    parser.add_argument("--temperature", type=float, default=0, help="of the networks (0)")
    parser.add_argument("--seed", type=int, default=1, help="of the openings (1)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
