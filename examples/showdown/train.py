r"""Train a network for Pokemon Showdown: as a teacher does, then against itself.

    evalsite generate --agent-a showdown_heuristics --game showdown_gen1random \
        --matches 1500 --seed 3 --out taught
    python -m examples.showdown.train --taught taught --generations 8 --out my-run

Every battle is played by the cluster that EVALSITE_URL and EVALSITE_TOKEN name: each generation is
registered there as an agent that plays at temperature 1, `evalsite generate` has it play itself,
and the trajectories are what it learns from. The same folder goes on after Ctrl-C with the
generations that are missing.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path

import numpy as np
import torch

from evalsite_client import Client
from evalsite_client.errors import ProblemError
from examples.showdown.decisions import read_decisions
from examples.showdown.learner import SEAL, Learner

IMITATION_STEPS = (0, 30, 100, 300, 1000, 3000)
"""After so many updates by the teacher's decisions a checkpoint is kept."""
TEACHER = "showdown_heuristics"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    options = _read_options(arguments)
    torch.set_num_threads(1)  # the sums of several threads come in any order
    options.out.mkdir(parents=True, exist_ok=True)
    learner = Learner(np.random.default_rng(options.seed))
    imitate(learner, options.taught, options.out)
    for generation in range(1, options.generations + 1):
        folder = options.out / f"generation_{generation:02d}"
        play_itself(learner, options, generation, folder)
        loss = learner.improve(read_decisions([folder]))
        path = _save(learner, options.out)
        print(f"generation {generation}: loss {loss:.3f}, saved {path}", flush=True)


def imitate(learner: Learner, taught: Sequence[Path], out: Path) -> None:
    """Learn from the teacher's decisions; keep checkpoints on the way."""
    decisions = read_decisions(taught, agent=TEACHER)
    for step in IMITATION_STEPS:
        agreement, loss = learner.imitate(decisions, step - learner.n_updates)
        path = _save(learner, out)
        print(f"update {step}: agrees {agreement:.3f}, loss {loss:.3f}, saved {path}", flush=True)


def play_itself(
    learner: Learner, options: argparse.Namespace, generation: int, folder: Path
) -> None:
    """Have the cluster play the network as it is now against itself, at temperature 1."""
    run = f"{options.run}-{options.seed}-{learner.n_updates}"
    name, newest = f"{run}-sampled", options.out / _name(learner)
    weights = learner.save(newest)
    with Client() as client:
        if not is_known(client, weights):
            step = str(learner.n_updates)
            _call("checkpoints", "add", str(newest), "--agent", run, "--step", step)
        client.agents.register(
            name=name,
            game=SEAL.game,
            policy="network",
            parameters={"temperature": 1.0},
            checkpoint=weights,
        )
    _call(
        "generate",
        *("--agent-a", name, "--game", SEAL.game, "--matches", str(options.matches)),
        *("--seed", str(options.seed * 1000 + generation), "--out", str(folder)),
    )


def is_known(client: Client, weights: str) -> bool:
    """Say whether an earlier call has come this far, or somebody has added the file."""
    try:
        client.checkpoints.get(weights)
    except ProblemError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return False
    return True


def _call(*words: str) -> None:
    """Call evalsite. Raises SystemExit with what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "evalsite_client", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"evalsite {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")


def _save(learner: Learner, out: Path) -> Path:
    path = out / _name(learner)
    learner.save(path)
    return path


def _name(learner: Learner) -> str:
    return f"showdown_step_{learner.n_updates:06d}.safetensors"


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.showdown.train")
    parser.add_argument("--taught", type=Path, nargs="+", required=True, help="of the teacher")
    parser.add_argument("--generations", type=int, default=8, help="of self-play (8)")
    parser.add_argument("--matches", type=int, default=300, help="of a generation (300)")
    parser.add_argument("--run", default="showdown", help="name of the run (showdown)")
    parser.add_argument("--seed", type=int, default=1, help="of all randomness (1)")
    parser.add_argument("--out", type=Path, required=True, help="folder of the checkpoints")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
