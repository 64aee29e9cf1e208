"""A training algorithm: its name and the parameters that can be chosen."""

from collections.abc import Sequence
from dataclasses import dataclass

from arena.parameters import Parameter


@dataclass(frozen=True)
class TrainerSpec:
    """A way to train; its code is the file of the same name in `training/catalog`.

    is_streamed: it learns from uploads as they come. is_offline: it learns from a dataset, whoever
    played; what is both does what the run says. plays_matches: control has its newest version play
    matches before each slice, and that is what it learns from.
    """

    title: str
    parameters: Sequence[Parameter]
    is_streamed: bool
    is_offline: bool = False
    plays_matches: bool = False
