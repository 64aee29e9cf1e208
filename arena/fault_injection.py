"""Faults emulated around any game at given rates, to prove that the platform survives them.

A fault is drawn from (game seed, attempt): a retry may succeed while the game stays the same. Who
plays a match draws once and strikes once, by whom the plan charges:

    fault = draw_fault(plan, game_seed, attempt, n_seats)
    PLATFORM: play on inject_into_state(state, fault, ...): it fails at its first step or result;
    AGENT: for the first decision of fault.seat take inject_into_action(fault, ..., act=its own)
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from arena.errors import EmulatedFaultError, ParameterError
from arena.games.base import State
from arena.seeding import derive_uniforms

# What an invalid fault returns in the place of a result or an action.
INVALID_VALUES: tuple[object, ...] = ("", -10, 0.5, {}, True, 0.0, float("nan"))

_RATES = ("error_rate", "invalid_rate", "hang_rate")


class FaultKind(StrEnum):
    """What goes wrong: an exception, an invalid value, or no answer for hang_s seconds."""

    ERROR = "error"
    INVALID = "invalid"
    HANG = "hang"


class Charge(StrEnum):
    """Who is at fault: the platform (the attempt is retried) or an agent (its seat is charged)."""

    PLATFORM = "platform"
    AGENT = "agent"


@dataclass(frozen=True)
class FaultPlan:
    """The rates per attempt; their sum is at most 1. Raises ParameterError for any other plan."""

    error_rate: float = 0.0
    invalid_rate: float = 0.0
    hang_rate: float = 0.0
    hang_s: float = 30.0
    charge: Charge = Charge.PLATFORM

    def __post_init__(self) -> None:
        """Refuse rates outside 0..1, a sum above 1, a negative hang and an unknown charge."""
        rates = {name: getattr(self, name) for name in _RATES}
        for name, rate in rates.items():
            if not 0 <= rate <= 1:
                raise ParameterError("faults", name, f"must be 0..1, got {rate!r}")
        # A match has at most one fault: the rates share one draw.
        if sum(rates.values()) > 1 + 1e-9:  # .7 + .2 + .1 is a little more than 1
            raise ParameterError("faults", " + ".join(rates), f"must be at most 1, got {rates}")
        if not 0 <= self.hang_s < float("inf"):
            raise ParameterError("faults", "hang_s", f"must be 0 or more, got {self.hang_s!r}")
        if self.charge not in list(Charge):
            choices = ", ".join(Charge)
            raise ParameterError("faults", "charge", f"must be of {choices}, got {self.charge!r}")


@dataclass(frozen=True)
class Fault:
    """One fault of one attempt: its kind, the seat it strikes and the value it returns."""

    kind: FaultKind
    seat: int
    value: object = None


def draw_fault(plan: FaultPlan, game_seed: int, attempt: int, n_seats: int) -> Fault | None:
    """Return the fault of this attempt, or None; the same arguments give the same answer.

    A caller whose matches share game seeds mixes the lineup into the seed that it passes.
    """
    # Three numbers in any case, so that another rate moves no other fault to another seat.
    which, place, kind = derive_uniforms(3, "fault", game_seed, attempt)
    seat = int(place * n_seats)
    if which < plan.error_rate:
        return Fault(FaultKind.ERROR, seat)
    if which < plan.error_rate + plan.invalid_rate:
        return Fault(FaultKind.INVALID, seat, INVALID_VALUES[int(kind * len(INVALID_VALUES))])
    if which < plan.error_rate + plan.invalid_rate + plan.hang_rate:
        return Fault(FaultKind.HANG, seat)
    return None


def inject_into_state(
    state: State, fault: Fault, *, hang_s: float, sleep: Callable[[float], object]
) -> State:
    """Return the state with a fault of the platform: the same episode until the fault strikes.

    An ERROR raises EmulatedFaultError at the first step and a HANG sleeps there; INVALID gives
    the fault's value in the place of the returns.
    """
    return cast(State, _FaultyState(state, fault, hang_s, sleep))


def inject_into_action(
    fault: Fault,
    *,
    hang_s: float,
    sleep: Callable[[float], object],
    act: Callable[[], object],
) -> object:
    """Return what a policy answers when the fault strikes it; `act` is its own decision.

    ERROR raises EmulatedFaultError, HANG sleeps and then acts, INVALID gives the fault's value.
    """
    if fault.kind is FaultKind.ERROR:
        raise EmulatedFaultError(f"emulated error of seat {fault.seat}")
    if fault.kind is FaultKind.INVALID:
        return fault.value
    sleep(hang_s)
    return act()


class _FaultyState:
    """A state that fails at its first step or at its result and is the inner one in all else."""

    def __init__(
        self, state: State, fault: Fault, hang_s: float, sleep: Callable[[float], object]
    ) -> None:
        self._state, self._fault, self._hang_s, self._sleep = state, fault, hang_s, sleep
        self._is_struck = False

    def __getattr__(self, name: str) -> Any:
        """Pass on what is not struck, the engine's `native` too: a policy sees no difference."""
        return getattr(self._state, name)

    def apply(self, action: int) -> None:
        if not self._is_struck:
            self._is_struck = True
            if self._fault.kind is FaultKind.ERROR:
                raise EmulatedFaultError("emulated error of the game")
            if self._fault.kind is FaultKind.HANG:
                self._sleep(self._hang_s)
        self._state.apply(action)

    def returns(self) -> object:
        is_invalid = self._fault.kind is FaultKind.INVALID
        return self._fault.value if is_invalid else self._state.returns()
