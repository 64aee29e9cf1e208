"""Perceptron over boards into whose columns discs are dropped: it is shown what lines are open.

For the cell on which the next disc of a column would land, and for the one above it, it counts the
open lines through that cell by how many discs they hold, its own and the other's. What a count is
worth is learned, one weight for all columns, beside layers that see the whole board. Boards are
seen by the seat to move, which is the first one when both have as many discs.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from arena.errors import ParameterError
from arena.parameters import Parameter
from inference.architectures.base import Heads, accepted

_BOARD = ("planes", "rows", "columns")
_LENGTH = Parameter("length", 4, "cells of a line that wins", 2, 19)
_WIDTH = Parameter("width", 128, "units of each of the two hidden layers", 1, 4096)
_SIDES = 2
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
# Of the counts: where lines cross, more of them say little more.
_SCALE = 0.5


class Drops(nn.Module):
    """Counts of open lines, then two hidden layers; a column's logit also sees its own counts."""

    def __init__(self, rows: int, columns: int, length: int, width: int) -> None:
        """Take the sizes; row 0 is the lowest."""
        super().__init__()
        self.lines: Tensor
        self._board, self._length = (rows, columns), length
        self.register_buffer("lines", list_lines(rows, columns, length))
        n_counts = 2 * _SIDES * (length - 1)
        self.column = nn.Linear(n_counts, 1)
        self.first = nn.Linear(columns * n_counts + _SIDES * rows * columns, width)
        self.second = nn.Linear(width, width)
        self.heads = Heads(width, columns)

    def forward(self, observations: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values in -1..1 and the (empty) states."""
        discs = order_sides(observations)
        counts = self._count_lines(discs)
        flat = torch.cat([counts.flatten(1), discs.flatten(1)], 1)
        logits, values = self.heads(self.second(self.first(flat).relu()).relu())
        return logits + self.column(counts).squeeze(-1), values, states

    def _count_lines(self, discs: Tensor) -> Tensor:
        """Return [B, columns, counts] of discs [B, 2, rows, columns]."""
        held = discs.flatten(2) @ self.lines.T  # [B, 2, lines]
        is_open = held.flip(1) == 0
        filled = discs.sum(1)
        below = torch.cat([torch.ones_like(filled[:, :1]), filled[:, :-1]], 1)
        landing = (1 - filled) * below
        above = torch.cat([torch.zeros_like(landing[:, :1]), landing[:, :-1]], 1)
        counts = []
        for n_discs in range(1, self._length):
            through = ((held == n_discs) & is_open).float() @ self.lines  # [B, 2, cells]
            cells = through.reshape(*through.shape[:2], *self._board)
            counts += [(cells * where[:, None]).sum(2) for where in (landing, above)]
        return _SCALE * torch.cat(counts, 1).transpose(1, 2)


def order_sides(observations: Tensor) -> Tensor:
    """Return the discs [B, 2, rows, columns], first those of the seat to move."""
    discs = observations[:, :_SIDES]
    lead = (discs[:, :1] - discs[:, 1:]).sum((2, 3), keepdim=True)
    # Seat 0 has one disc more when seat 1 is to move.
    return discs + lead.clamp(0, 1) * (discs.flip(1) - discs)


def list_lines(rows: int, columns: int, length: int) -> Tensor:
    """Return which cells each line covers: float32 [lines, rows * columns] of 0 and 1."""
    lines = []
    for row in range(rows):
        for column in range(columns):
            for up, right in _DIRECTIONS:
                last_row, last_column = row + (length - 1) * up, column + (length - 1) * right
                if last_row < rows and 0 <= last_column < columns:
                    line = torch.zeros(rows, columns)
                    for place in range(length):
                        line[row + place * up, column + place * right] = 1
                    lines.append(line.flatten())
    return torch.stack(lines) if lines else torch.zeros(0, rows * columns)


class DropsArchitecture:
    """Takes boards with a plane of each seat's discs whose actions are the columns."""

    id = "drops"
    title = "Perceptron over open lines of columns"
    parameters = (_LENGTH, _WIDTH)

    def refusal(self, observation_shape: tuple[int, ...]) -> str | None:
        """Return why the shape is no board of two sides, or None."""
        if len(observation_shape) == len(_BOARD) and observation_shape[0] >= _SIDES:
            return None
        board = f"[{', '.join(_BOARD)}] with a plane for each of two seats"
        return f"must be {board}, got {list(observation_shape)}: take mlp instead"

    def state_size(self, parameters: Mapping[str, object]) -> int:  # noqa: ARG002 - the protocol
        """Return 0."""
        return 0

    def build(
        self, observation_shape: tuple[int, ...], n_actions: int, parameters: Mapping[str, object]
    ) -> Drops:
        """Return the module. Raises ParameterError."""
        read = accepted(self, observation_shape, parameters)
        _, rows, columns = observation_shape
        if n_actions != columns:
            reason = f"{n_actions} actions are not the {columns} columns: take rescnn instead"
            raise ParameterError(self.id, "observation_shape", reason)
        return Drops(rows, columns, int(read["length"]), int(read["width"]))


ARCHITECTURE = DropsArchitecture()
