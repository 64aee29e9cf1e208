"""What one converted file consists of, whatever program wrote it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from arena.parameters import Value

Tensors = dict[str, Tensor]
# Observations [B, *shape] -> logits [B, A], values [B], as the program that trained it says.
Original = Callable[[Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Converted:
    """Weights under the names of an architecture, with its parameters.

    original: the forward of before, rebuilt from the file to compare with, or None where the code
    is not known; notes: what a person should know of this conversion.
    """

    tensors: Tensors
    parameters: Mapping[str, Value]
    original: Original | None
    notes: list[str] = field(default_factory=list)
