"""Try one checkpoint, in a process of its own: `python -m inference.check_process FILE ORDER`.

Says "ready" when all is imported, then in one line of JSON why the checkpoint is refused, or what
it is. Its parent, inference.check, watches memory and time.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from arena.errors import CheckpointFileError
from inference.model import Model, load

READY = "ready"
# More than one, and a multiple of nothing that kernels like.
MANY_ROWS = 17
_TIMED_S = 0.5
_MOST_TIMED = 50
_FEWEST_TIMED = 3
_MAX_TEXT = 300


def main(arguments: list[str], say: Callable[[str], object]) -> None:
    """Try the file under what its game is, a JSON object of fields of a CheckOrder."""
    torch.set_num_threads(1)
    say(READY)
    path, order = Path(arguments[0]), json.loads(arguments[1])
    try:
        say(json.dumps(_try_checkpoint(path, order)))
    except CheckpointFileError as error:
        say(json.dumps({"refusal": str(error)}))


def _try_checkpoint(path: Path, order: Mapping[str, Any]) -> dict[str, object]:
    model = load(path)
    seal = model.seal
    own = {"game": seal.game, "n_actions": seal.n_actions}
    for name, value in (own | {"observation_shape": list(seal.observation_shape)}).items():
        if value != order[name]:
            raise CheckpointFileError(f"its {name} is {value}: the game has {order[name]}")
    with torch.inference_mode():
        for n_rows in (1, MANY_ROWS):
            _check_forward(model, n_rows)
        row_ms = _time_row_ms(model)
    return {
        "refusal": "",
        "n_parameters": model.n_parameters,
        "state_size": model.state_size,
        "row_ms": row_ms,
    }


def _check_forward(model: Model, n_rows: int) -> None:
    """Raise CheckpointFileError unless random and zero rows are answered with finite numbers."""
    generator = torch.Generator().manual_seed(0)
    random = torch.randn(n_rows, *model.seal.observation_shape, generator=generator)
    states = torch.zeros(n_rows, model.state_size)
    for kind, rows in (("random", random), ("empty", torch.zeros_like(random))):
        try:
            # The states of one answer go into the next question, as in a match.
            states = _ask_model(model, rows, states)
        except CheckpointFileError as error:
            name = f"{n_rows} {kind} observation{'s' if n_rows > 1 else ''}"
            raise CheckpointFileError(f"asked {name}, {error}") from error


def _ask_model(model: Model, rows: Tensor, states: Tensor) -> Tensor:
    """Return the states after. Raises CheckpointFileError."""
    try:
        parts = [torch.as_tensor(part) for part in model.module(rows, states)]
    except Exception as error:
        # A network may raise anything: it is what is being found out.
        text = f"{type(error).__name__}: {error}"[:_MAX_TEXT]
        raise CheckpointFileError(f"it raised {text}") from error
    expected = [[len(rows), model.seal.n_actions], [len(rows)], [len(rows), model.state_size]]
    shapes = [list(part.shape) for part in parts]
    if shapes != expected:
        raise CheckpointFileError(f"it answered shapes {shapes}, not {expected}")
    if not all(bool(part.isfinite().all()) for part in parts):
        raise CheckpointFileError("it answered NaN or infinity")
    return parts[2]


def _time_row_ms(model: Model) -> float:
    """Return the median time of the forward of one row in ms."""
    row = torch.zeros(1, *model.seal.observation_shape)
    state = torch.zeros(1, model.state_size)
    times_s: list[float] = []
    while len(times_s) < _FEWEST_TIMED or (sum(times_s) < _TIMED_S and len(times_s) < _MOST_TIMED):
        begun = time.perf_counter()
        model.module(row, state)
        times_s.append(time.perf_counter() - begun)
    return 1000 * median(times_s)


if __name__ == "__main__":
    # What an architecture of a plug-in prints must not be taken for an answer.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    main(sys.argv[1:], lambda line: print(line, file=answers))
