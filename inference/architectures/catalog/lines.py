"""Perceptron over boards that is shown which lines are still open, for games of k in a row.

For each place it counts the open lines through it by how many discs they hold, those of the seat to
move and the other's. A place is an empty cell; where the actions are the columns, discs fall, and
the places are the cell on which the next one lands and the one above it. What a count is worth is
learned, one weight for all places, beside layers that see the whole board. The seat to move is seat
0 when both have as many discs on the board.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from arena.parameters import Parameter
from inference.architectures.base import Heads, accepted

_BOARD = ("planes", "rows", "columns")
_LENGTH = Parameter(
    "length", 4, "cells of a line that wins; no more than the board's longer side count", 2, 19
)
_WIDTH = Parameter("width", 128, "units of each of the two hidden layers", 1, 4096)
_SIDES = 2
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
# Several lines cross in a place: so their counts are about as large as a disc.
_SCALE = 0.5


class Lines(nn.Module):
    """Counts of open lines, then two hidden layers; a place's logit also sees its own counts."""

    def __init__(self, rows: int, columns: int, n_actions: int, length: int, width: int) -> None:
        """Take the sizes; row 0 is the lowest."""
        super().__init__()
        self.lines: Tensor
        self._board, self._length, self._falls = (rows, columns), length, n_actions == columns
        self.register_buffer("lines", list_lines(rows, columns, length))
        n_cells = rows * columns
        n_places = columns if self._falls else n_cells
        n_counts = (1 + self._falls) * _SIDES * (length - 1)
        # Without a place for each action the counts are only seen by the layers.
        self.place = nn.Linear(n_counts, 1) if n_places == n_actions else None
        self.first = nn.Linear(n_places * n_counts + _SIDES * n_cells, width)
        self.second = nn.Linear(width, width)
        self.heads = Heads(width, n_actions)

    def forward(self, observations: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values in -1..1 and the (empty) states."""
        discs = order_sides(observations)
        counts = self._count_lines(discs)
        flat = torch.cat([counts.flatten(1), discs.flatten(1)], 1)
        logits, values = self.heads(self.second(self.first(flat).relu()).relu())
        if self.place is not None:
            # No product with a vector: it rounds by where in memory the weights lie.
            logits = logits + (counts * self.place.weight).sum(-1) + self.place.bias
        return logits, values, states

    def _count_lines(self, discs: Tensor) -> Tensor:
        """Return [B, places, counts] of discs [B, 2, rows, columns]."""
        n_own = discs.flatten(2) @ self.lines.T  # [B, 2, lines]
        is_open = (1 - n_own.flip(1)).relu()
        counts = []
        for n_discs in range(1, self._length):
            # 1 where a line holds so many, else 0: of whole numbers, and without a branch.
            holds = (1 - (n_own - n_discs).abs()).relu()
            through = ((holds * is_open) @ self.lines).reshape(discs.shape)
            counts += [self._look_at_places(through, empty) for empty in self._find_places(discs)]
        return _SCALE * torch.cat(counts, 1).transpose(1, 2)

    def _find_places(self, discs: Tensor) -> list[Tensor]:
        """Return the places as boards [B, 1, rows, columns] of 0 and 1."""
        empty = 1 - discs.sum(1, keepdim=True)
        if not self._falls:
            return [empty]
        below = torch.cat([torch.ones_like(empty[:, :, :1]), 1 - empty[:, :, :-1]], 2)
        landing = empty * below
        return [landing, torch.cat([torch.zeros_like(empty[:, :, :1]), landing[:, :, :-1]], 2)]

    def _look_at_places(self, through: Tensor, places: Tensor) -> Tensor:
        """Return [B, 2, places]: of a column the one place it has."""
        through_place = through * places
        return through_place.sum(2) if self._falls else through_place.flatten(2)


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
    return torch.stack(lines)


class LinesArchitecture:
    """Takes boards with a plane of each seat's discs."""

    id = "lines"
    title = "Perceptron over open lines"
    parameters = (_LENGTH, _WIDTH)

    def refusal(self, observation_shape: tuple[int, ...]) -> str | None:
        """Return why the shape is no board of two sides, or None."""
        is_board = len(observation_shape) == len(_BOARD) and observation_shape[0] >= _SIDES
        if is_board and max(observation_shape[1:]) > 1:
            return None
        board = f"[{', '.join(_BOARD)}] with a plane for each of two seats"
        return f"must be {board}, got {list(observation_shape)}: take mlp instead"

    def state_size(self, parameters: Mapping[str, object]) -> int:  # noqa: ARG002 - the protocol
        """Return 0."""
        return 0

    def build(
        self, observation_shape: tuple[int, ...], n_actions: int, parameters: Mapping[str, object]
    ) -> Lines:
        """Return the module. Raises ParameterError."""
        chosen = accepted(self, observation_shape, parameters)
        _, rows, columns = observation_shape
        length = min(int(chosen["length"]), max(rows, columns))
        return Lines(rows, columns, n_actions, length, int(chosen["width"]))


ARCHITECTURE = LinesArchitecture()
