"""Two processes that share each minibatch against one that has all of it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from torch.multiprocessing.spawn import spawn

from arena.experience.chunks import Chunk
from training import registry
from training.base import Learner
from training.tests.cart_pole import TASK, Player

# Of 127 steps: minibatches of 63, 63 and 1, of which one process has nothing.
PARAMETERS = {"epochs": 5, "minibatch": 63}
N_PROCESSES = 2


def begin() -> Learner:
    return registry.get("appo").begin(TASK, PARAMETERS, seed=7)


def learn_together(rank: int, folder: str, chunk: Chunk) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=N_PROCESSES
    )
    learner = begin()
    learner.learn([chunk])
    (Path(folder) / f"{rank}.state").write_bytes(learner.save())
    torch.distributed.destroy_process_group()


def read_weights(state: bytes) -> np.ndarray:
    learner = begin()
    learner.load(state)
    weights = torch.cat([each.flatten() for each in learner.module.parameters()])
    return np.asarray(weights.detach().numpy())


@pytest.mark.slow
def test_two_processes_change_the_weights_as_one_does() -> None:
    alone = begin()
    start = read_weights(alone.save())
    chunk = Player(0).play(alone, 127)
    alone.learn([chunk])
    expected = read_weights(alone.save())
    with TemporaryDirectory() as folder:
        spawn(learn_together, (folder, chunk), nprocs=N_PROCESSES)  # type: ignore[no-untyped-call]
        states = [(Path(folder) / f"{rank}.state").read_bytes() for rank in range(N_PROCESSES)]
    for state in states:
        assert np.abs(read_weights(state) - expected).max() <= 1e-5
    assert np.abs(expected - start).max() > 1e-3
