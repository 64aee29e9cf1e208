"""How tests convert files: into networks for tic_tac_toe, compared by what they answer."""

from pathlib import Path

import torch
from torch import Tensor

from inference.convert import main
from inference.model import load

N_INPUTS, N_ACTIONS = 27, 9
SHAPE = (3, 3, 3)
ROWS = torch.randn(16, *SHAPE, generator=torch.Generator().manual_seed(1))
Tensors = dict[str, Tensor]


def converted(path: Path, out: Path, program: str, *more: str) -> int:
    """Run the command into an mlp; words given later win."""
    words = ["--architecture", "mlp", "--game", "tic_tac_toe", "--out", str(out)]
    return main([str(path), "--from", program, *words, *more])


def saved(path: Path, content: object) -> Path:
    torch.save(content, path)
    return path


def assert_answers_as(path: Path, logits: Tensor, values: Tensor) -> None:
    outputs = load(path).module(ROWS, torch.zeros(len(ROWS), 0))
    torch.testing.assert_close(outputs[0], logits.detach().float())
    torch.testing.assert_close(outputs[1], values.detach().float())
