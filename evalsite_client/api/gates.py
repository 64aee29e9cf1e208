"""Gates of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evalsite_client.api.shared import Forecast, Pairs
from evalsite_client.calls import Calls

Decision = Literal["accept", "reject", "continue"]


@dataclass(frozen=True)
class Line:
    """Something and what is said of it."""

    label: str
    says: str


@dataclass(frozen=True)
class Gate:
    """Where the test of a gate stands.

    llr: Log-likelihood ratio.
    n_known: Matches that were known at its start.
    n_left: Matches to go, as judged last.
    blocks: With 0, 1/2, 1, 3/2 and 2 points of two games.
    gap: How much better or worse the candidate plays, with its interval; empty before the first
        block.
    budget_warning: Said where the forecast is over what is left of the budget.
    saved: What did not have to be played; empty if nothing.
    forecast: Null without one, or once decided.
    """

    campaign: int
    tournament: int
    decision: Decision
    is_over: bool
    llr: float
    lower: float
    upper: float
    n_games: int
    n_known: int
    n_known_elsewhere: int
    n_not_played_again: int
    n_left: float | None
    blocks: tuple[int, ...]
    pairs: Pairs | None
    pairs_in_words: tuple[Line, ...]
    gap: str
    budget_warning: str | None
    saved: str
    forecast: Forecast | None
    forecast_in_words: tuple[Line, ...]
    parameters: Mapping[str, Any]
    statement: str
    why: str


Model = Literal["logistic", "normalised"]


class Gates(Calls):
    """Enter a candidate; the answer has the forecast. Decided before, it says so at once."""

    def create(
        self,
        *,
        candidate: str,
        baseline: str,
        game: str = "",
        leaderboard: str = "",
        elo0: float = 0.0,
        elo1: float = 20.0,
        alpha: float = 0.05,
        beta: float = 0.05,
        model: Model = "logistic",
        max_matches: int = 20000,
        key: str | None = None,
    ) -> Gate:
        """Enter a candidate; the answer has the forecast. Decided before, it says so at once.

        game: When several have these names.
        leaderboard: Empty: that of the game's gates.
        alpha: Of passing at elo0.
        beta: Of failing at elo1.
        max_matches: Of this call.
        """
        return self._post(
            Gate,
            "gates",
            {
                "candidate": candidate,
                "baseline": baseline,
                "game": game,
                "leaderboard": leaderboard,
                "elo0": elo0,
                "elo1": elo1,
                "alpha": alpha,
                "beta": beta,
                "model": model,
                "max_matches": max_matches,
            },
            key=key,
        )

    def get(self, gate: int, *, with_forecast: bool | None = None) -> Gate:
        """Return one gate.

        with_forecast: Also foresee what is left, which takes a while.
        """
        return self._get(Gate, f"gates/{gate}", {"with_forecast": with_forecast})
