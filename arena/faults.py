"""Faults emulated around any game at given rates, to prove that the platform survives them.

A fault is drawn from (game seed, attempt): a retry may succeed while the game stays the same.
"""

from dataclasses import dataclass
from enum import StrEnum

from arena.seeding import uniforms

INVALID_VALUES: tuple[object, ...] = ("", -10, 0.5, {}, True, 0.0, float("nan"))
"""What an invalid fault returns in the place of a result or an action."""


class FaultKind(StrEnum):
    """What goes wrong."""

    ERROR = "error"
    INVALID = "invalid"
    HANG = "hang"


class Charge(StrEnum):
    """Who is at fault: the platform (the attempt is retried) or an agent (its seat is charged)."""

    PLATFORM = "platform"
    AGENT = "agent"


@dataclass(frozen=True)
class FaultPlan:
    """The rates per attempt; their sum is at most 1."""

    error_rate: float = 0.0
    invalid_rate: float = 0.0
    hang_rate: float = 0.0
    hang_s: float = 30.0
    charge: Charge = Charge.PLATFORM


@dataclass(frozen=True)
class Fault:
    """One fault of one attempt: its kind, the seat it strikes and the value it returns."""

    kind: FaultKind
    seat: int
    value: object = None


def draw(plan: FaultPlan, game_seed: int, attempt: int, n_seats: int) -> Fault | None:
    """Return the fault of this attempt, or None; the same arguments give the same answer."""
    which, where, what = uniforms(3, "fault", game_seed, attempt)
    seat = int(where * n_seats)
    if which < plan.error_rate:
        return Fault(FaultKind.ERROR, seat)
    if which < plan.error_rate + plan.invalid_rate:
        return Fault(FaultKind.INVALID, seat, INVALID_VALUES[int(what * len(INVALID_VALUES))])
    if which < plan.error_rate + plan.invalid_rate + plan.hang_rate:
        return Fault(FaultKind.HANG, seat)
    return None
