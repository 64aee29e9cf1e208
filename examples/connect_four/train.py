"""Train a network to play connect four by playing itself, and keep checkpoints of its way.

    python -m examples.connect_four.train --minutes 15 --seed 1 --out DIR

One core is enough. A seed and a number of iterations give the same files to the bit on one machine;
the time only decides after which iteration to stop. Ctrl-C ends after the iteration under way.
"""

import argparse
import signal
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import torch

from examples.connect_four.learner import Learner, Schedule
from examples.connect_four.self_play import SelfPlay, Settings

SPACING = 1.25
"""Each checkpoint stands at so many times the iteration of the one before, or the next one."""


def main() -> None:
    """Train as the command line says."""
    options = _options()
    torch.set_num_threads(1)  # the sums of several threads come in any order
    options.out.mkdir(parents=True, exist_ok=True)
    stop_at = time.monotonic() + 60 * options.minutes
    interrupted = note_interrupt()
    n_iterations = options.iterations

    def is_last(iteration: int) -> bool:
        late = n_iterations is None and time.monotonic() > stop_at
        return iteration == n_iterations or late or bool(interrupted)

    train(options.seed, options.out, is_last=is_last)


def train(
    seed: int, folder: Path, *, is_last: Callable[[int], bool], settings: Settings | None = None
) -> list[Path]:
    """Train until `is_last` says so of an iteration; return the checkpoints, the untrained first.

    Their names end in the number of updates that the network has had.
    """
    rng = np.random.default_rng(seed)
    learner = Learner(rng, Schedule())
    self_play = SelfPlay(settings or Settings(), rng)
    saved, next_one = [_save(learner, folder)], 1
    for iteration in count(1):
        experience = self_play.play(learner.evaluate)
        loss = learner.learn(experience)
        print(
            f"iteration {iteration}: {learner.n_updates} updates, "
            f"policy loss {loss.policy:.3f}, value loss {loss.value:.3f}",
            flush=True,
        )
        ends = is_last(iteration)
        if ends or iteration >= next_one:
            saved.append(_save(learner, folder))
            next_one = max(iteration + 1, round(SPACING * iteration))
        if ends:
            break
    return saved


def _save(learner: Learner, folder: Path) -> Path:
    path = folder / f"connect_four_step_{learner.n_updates:06d}.safetensors"
    digest = learner.save(path)
    print(f"saved {path} ({path.stat().st_size / 1000:.0f} kB, {digest[:12]})", flush=True)
    return path


def note_interrupt() -> list[int]:
    """Return a list that a first Ctrl-C fills; the second one ends at once."""
    noted: list[int] = []

    def note(number: int, _: object) -> None:
        noted.append(number)
        signal.signal(number, signal.default_int_handler)
        print("ending after this iteration; once more to end at once", flush=True)

    signal.signal(signal.SIGINT, note)
    return noted


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.connect_four.train")
    parser.add_argument("--minutes", type=float, default=15, help="when to stop (15)")
    parser.add_argument("--iterations", type=int, help="stop after so many instead")
    parser.add_argument("--seed", type=int, default=1, help="of all randomness (1)")
    parser.add_argument("--out", type=Path, required=True, help="folder of the checkpoints")
    return parser.parse_args()


if __name__ == "__main__":
    main()
