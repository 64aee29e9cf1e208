"""What a campaign may spend and has spent: matches, core-seconds and money."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import floor, isfinite

from arena.verdicts.base import VerdictError

_HOUR_S = 3_600.0


def price_seconds(seconds: Mapping[str, float], prices: Mapping[str, float]) -> float:
    """Return what it costs to use each class of worker for so many seconds.

    prices: of an hour, by class. Raises VerdictError for a class without a price.
    """
    # All at once: who runs a campaign adds the missing prices in one go.
    unpriced = sorted(set(seconds) - set(prices))
    if unpriced:
        raise VerdictError(f"prices: give a price of an hour for {', '.join(unpriced)}")
    return sum(seconds[name] / _HOUR_S * prices[name] for name in seconds)


@dataclass(frozen=True)
class Amounts:
    """Matches, core-seconds and money; of a budget or spent. Of a budget, None is no limit."""

    matches: float | None = None
    core_seconds: float | None = None
    money: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no amount."""
        for name, amount in self.named:
            if not (isfinite(amount) and amount >= 0):
                raise VerdictError(f"{name} must be finite and 0 or more, got {amount!r}")

    @property
    def named(self) -> list[tuple[str, float]]:
        """The amounts that are given, by name."""
        every = {"matches": self.matches, "core_seconds": self.core_seconds, "money": self.money}
        return [(name, amount) for name, amount in every.items() if amount is not None]


def find_exhausted(budget: Amounts, spent: Amounts) -> str | None:
    """Return the name of a limit that is reached, or None: the hard stop."""
    used = dict(spent.named)
    return next((name for name, limit in budget.named if used.get(name, 0.0) >= limit), None)


def count_matches_left(budget: Amounts, spent: Amounts, per_match: Amounts) -> int | None:
    """Return how many more matches the budget pays for; None without a limit.

    per_match: what one costs, as measured or guessed; of `matches` always 1.
    """
    used, cost = dict(spent.named), {**dict(per_match.named), "matches": 1.0}
    # A cost that is unknown, or 0, sets no limit yet.
    left = [
        max(0, floor((limit - used.get(name, 0.0)) / cost[name]))
        for name, limit in budget.named
        if cost.get(name)
    ]
    return min(left, default=None)
