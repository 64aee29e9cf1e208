"""`python -m training.offline`: learn from files of experience, by one engine or the other.

python -m training.offline --engine ray --game cart_pole --out poles.safetensors SEGMENT...
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import torch

from arena.errors import ArenaError
from arena.games import registry as games
from training.engines import registry as engines
from training.engines.base import LearnOrder
from training.errors import TrainingError

BAD_INPUT: Final = 2
INTERRUPTED: Final = 130
MAX_DIGITS: Final = 18
"""Torch takes every seed of so many."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Learn, and print what came of it; return the exit status."""
    options = _read_options(arguments)
    # Sums in one order, and networks this small are slower with more.
    torch.set_num_threads(1)
    try:
        engine = engines.get(options.engine)
        if options.algorithm not in engine.algorithms:
            raise TrainingError(
                f"engine {engine.id} does not run {options.algorithm!r}: it runs "
                f"{', '.join(engine.algorithms)}"
            )
        learned = engine.learn(make_order(options))
    except (ArenaError, TrainingError) as error:
        sys.stderr.write(f"{error}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    sys.stdout.write(
        f"{options.out}: {learned.n_steps:,} steps learned on {', '.join(learned.nodes)}, "
        f"loss {learned.loss:.4f}, checkpoint {learned.sha256}\n"
    )
    return 0


def make_order(options: argparse.Namespace) -> LearnOrder:
    """Return the order of a command. Raises UnknownNameError, TrainingError."""
    if not options.out.absolute().parent.is_dir():
        raise TrainingError(f"--out {options.out}: there is no folder {options.out.parent}")
    if options.out.is_dir():
        raise TrainingError(f"--out {options.out} is a folder: name a file in it")
    if options.out.exists() and not options.out.is_file():
        # Who writes a checkpoint renames a file to its name: where root does, the device is gone.
        raise TrainingError(f"--out {options.out} is a device or a pipe: name a file")
    spec = games.get(options.game).spec
    parameters = dict(_split_parameter(text) for text in options.parameter)
    return LearnOrder(
        game=options.game,
        observation_shape=list(spec.observation_shape),
        n_actions=spec.n_actions,
        algorithm=options.algorithm,
        parameters={**parameters},
        passes=options.passes,
        seed=options.seed,
        segments=[str(path.absolute()) for path in options.segments],
        target=str(options.out.absolute()),
    )


def _split_parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise TrainingError(f"parameter {text!r} is no NAME=VALUE, such as learning_rate=0.001")
    return name, value


def _read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.offline", description="Learn from files of experience."
    )
    parser.add_argument("segments", nargs="+", type=Path, help="Parquet files of experience")
    parser.add_argument("--engine", default="torch", help=" or ".join(engines.names()))
    parser.add_argument("--game", required=True)
    parser.add_argument("--algorithm", default="bc", help="a trainer that the engine runs")
    parser.add_argument(
        "-p", "--parameter", action="append", default=[], metavar="NAME=VALUE", help="of it"
    )
    parser.add_argument(
        "--passes", type=partial(_read_whole, least=1), default=10, help="over all steps (10)"
    )
    parser.add_argument("--seed", type=partial(_read_whole, least=0), default=0)
    parser.add_argument("--out", type=Path, required=True, help="the sealed checkpoint")
    return parser.parse_args(arguments)


def _read_whole(text: str, *, least: int) -> int:
    is_whole = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
    if not is_whole or int(text) < least:
        rule = f"must be a whole number from {least} on, of {MAX_DIGITS} digits at most"
        raise argparse.ArgumentTypeError(f"{rule}, got {text!r:.80}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
