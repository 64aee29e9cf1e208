"""What adaptive pairings have in common: parameters, checks, and defaults for what few need."""

from collections.abc import Mapping
from typing import Self

import numpy as np

from arena.pairing.base import COUPLE, Field, Lineup, PairingError, Standing, check_blocks
from arena.parameters import Parameter, Value, read_parameters


class Adaptive:
    """An adaptive pairing whose file writes `lineups` and declares its parameters."""

    id: str
    title: str
    needs_meetings = False
    goal = ""
    parameters: tuple[Parameter, ...] = ()

    def __init__(self, parameters: Mapping[str, object] | None = None) -> None:
        """Read the parameters, defaults included. Raises ParameterError."""
        self.values = read_parameters(self.id, self.parameters, parameters or {})

    def configured(self, parameters: Mapping[str, object]) -> Self:
        """Return the same pairing under other parameters. Raises ParameterError."""
        return type(self)(parameters)

    def number(self, name: str) -> int:
        """Return the value of a parameter that is an int."""
        value: Value = self.values[name]
        return int(value)

    def refusal(self, field: Field) -> str | None:
        """Return why it cannot pair this field: a match of one seat compares nobody."""
        return "it compares agents, and a match of 1 seat does not" if field.n_seats == 1 else None

    def warning(self, standing: Standing) -> str | None:  # noqa: ARG002
        """Return None; a pairing that suits some fields badly says so here."""
        return None

    def least_blocks(self, field: Field) -> int:  # noqa: ARG002
        """Return 0: it has no last block."""
        return 0

    def is_over(self, standing: Standing) -> bool:  # noqa: ARG002
        """Return False: there is always more to know."""
        return False

    def choose(self, standing: Standing, n_blocks: int, *, seed: int) -> list[Lineup]:
        """Return at most n_blocks lineups. Raises PairingError."""
        check_blocks(n_blocks)
        reason = self.refusal(standing.field)
        if reason is not None:
            raise PairingError(f"pairing {self.id!r} cannot pair this field: {reason}")
        if n_blocks == 0:
            return []
        # All randomness comes from the seed: planning again after a crash plans the same blocks.
        return self.lineups(standing, n_blocks, np.random.default_rng(seed))

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        """Return at most n_blocks lineups, n_blocks > 0, of a field that is not refused."""
        raise NotImplementedError


class AdaptiveCouples(Adaptive):
    """An adaptive pairing for matches of two seats; it refuses any other field."""

    def refusal(self, field: Field) -> str | None:
        """Return why it cannot pair this field, or None when its matches have two seats."""
        if field.n_seats == COUPLE:
            return None
        return f"its matches have 2 seats, and these have {field.n_seats}"
