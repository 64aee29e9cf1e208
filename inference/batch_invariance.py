"""How many rows a forward is given, so that a row's answer does not depend on the rows beside it.

Products of matrices choose their way by the number of rows, and then the last bits of one row
differ from batch to batch. In deterministic mode a forward has only numbers of rows for which every
row was seen to be answered with the same bits wherever it stands.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

# Read by the library of matrix products (MKL) at its first product: without it the bits depend on
# where in memory a row begins. It costs nothing that could be measured.
os.environ.setdefault("MKL_CBWR", "AUTO")

MOST_ROWS = 4096
_DISTINCT = 5
_REFERENCE_ROWS = 64
# Floats in a register.
_LANES = 16

Outputs = tuple[Tensor, Tensor, Tensor]
Forward = Callable[[Tensor, Tensor], Outputs]


class RowRule(NamedTuple):
    """A forward has a multiple of so many rows, or a power of two, and no more than `most`."""

    multiple: int
    most: int = MOST_ROWS
    is_power: bool = False
    is_proven: bool = False

    def pad_size(self, n_rows: int) -> int:
        """Return the number of rows of the forward for these."""
        if self.is_power:
            return 1 << (n_rows - 1).bit_length()
        return -(-n_rows // self.multiple) * self.multiple

    def split_rows(self, n_rows: int, *, limit: int) -> list[int]:
        """Return the sizes of the forwards for these rows, none over limit, padding included."""
        whole = max(self.multiple, min(limit, self.most) // self.multiple * self.multiple)
        n_whole, n_left = divmod(n_rows, whole)
        return [whole] * n_whole + ([min(whole, self.pad_size(n_left))] if n_left else [])


FREE = RowRule(1)
POWERS = RowRule(1, is_power=True)
# The cheapest first; with the last, every forward has the same size.
CANDIDATES = (RowRule(4), RowRule(16), RowRule(_REFERENCE_ROWS, most=_REFERENCE_ROWS))


class Scalar(nn.Linear):
    """A linear layer of one output, summed row by row.

    As a product of matrix and vector its bits depend on the place of the row, and differ when
    several networks run as one.
    """

    def forward(self, rows: Tensor) -> Tensor:
        """Return [..., 1]."""
        total = (rows * self.weight[0]).sum(-1, keepdim=True)
        return total if self.bias is None else total + self.bias


class Pointwise(nn.Conv2d):
    """A 1 x 1 convolution as a linear layer: below 16 rows its own kernel rounds otherwise."""

    def forward(self, planes: Tensor) -> Tensor:
        """Return planes [B, C, H, W]."""
        cells, weight = planes.movedim(1, -1).contiguous(), self.weight.flatten(1)
        if self.out_channels == 1:
            total = (cells * weight[0]).sum(-1, keepdim=True)
            mixed = total if self.bias is None else total + self.bias
        else:
            mixed = nn.functional.linear(cells, weight, self.bias)
        return mixed.movedim(-1, 1)


class Broad(nn.Conv2d):
    """A convolution whose planes are filled up with zeros to a multiple of 16.

    For fewer there is a kernel of its own, which rounds otherwise than that for several networks.
    """

    def forward(self, planes: Tensor) -> Tensor:
        """Return planes [B, C, H, W]."""
        more = (0, 0, 0, 0, 0, -self.in_channels % _LANES)
        planes, weight = nn.functional.pad(planes, more), nn.functional.pad(self.weight, more)
        broad: Tensor = self._conv_forward(planes, weight, self.bias)
        return broad


def make_batch_invariant(module: nn.Module) -> None:
    """Let layers whose bits depend on the place or the number of rows compute otherwise.

    They keep their weights; what they answer changes by rounding only.
    """
    for layer in module.modules():
        if type(layer) is nn.Linear and layer.out_features == 1:
            layer.__class__ = Scalar
        elif type(layer) is nn.Conv2d and layer.groups == 1 and layer.padding_mode == "zeros":
            geometry = (layer.kernel_size, layer.stride, layer.padding)
            if geometry == ((1, 1), (1, 1), (0, 0)):
                layer.__class__ = Pointwise
            elif layer.in_channels % _LANES:
                layer.__class__ = Broad


def find_row_rule(forward: Forward, rows: Tensor, states: Tensor) -> RowRule:
    """Return the cheapest rule under which rows are answered with the same bits everywhere.

    rows: [5, *shape] and states: [5, S], any that are distinct. When no rule is good enough, the
    last is returned with is_proven False.
    """
    reference = forward(*_repeat_rows(rows, states, _REFERENCE_ROWS))
    for rule in CANDIDATES:
        sizes = [rule.multiple]
        if rule.multiple != rule.most:
            sizes = [rule.multiple * factor for factor in (1, 2, 3, 5)] + [2 * _REFERENCE_ROWS]
        if all(_has_same_bits(forward, rows, states, n, reference) for n in sizes):
            return rule._replace(is_proven=True)
    return CANDIDATES[-1]


def _repeat_rows(rows: Tensor, states: Tensor, n_rows: int) -> tuple[Tensor, Tensor]:
    places = torch.arange(n_rows, device=rows.device) % _DISTINCT
    return rows[places], states[places]


def _has_same_bits(
    forward: Forward, rows: Tensor, states: Tensor, n: int, reference: Outputs
) -> bool:
    """Return True when each distinct row has the bits of the reference at every place of n rows."""
    answered = forward(*_repeat_rows(rows, states, n))
    places = torch.arange(n, device=rows.device) % _DISTINCT
    return all(torch.equal(a, b[places]) for a, b in zip(answered, reference, strict=True))
