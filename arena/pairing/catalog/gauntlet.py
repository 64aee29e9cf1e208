"""Gauntlet: newcomers against the field, each against those who say most about it."""

from collections.abc import Mapping

import numpy as np

from arena.errors import ParameterError
from arena.pairing.adaptive import Adaptive
from arena.pairing.base import Field, Lineup, PairingError, Standing
from arena.pairing.matching import count_agent_results, expected_information
from arena.parameters import Parameter
from arena.ratings.counts import Floats, Ints


class _Gauntlet(Adaptive):
    id = "gauntlet"
    title = "Gauntlet of newcomers"
    parameters = (
        Parameter(
            "newcomers",
            "",
            "their places in the field from 0, as in `7,8`; empty: those with less than half of "
            "the usual number of results, or the one with the fewest",
        ),
    )

    def __init__(self, parameters: Mapping[str, object] | None = None) -> None:
        super().__init__(parameters)
        text = str(self.values["newcomers"])
        try:
            places = sorted({int(piece) for piece in text.split(",") if piece.strip()})
        except ValueError:
            places = [-1]
        if places and places[0] < 0:
            reason = f"must be places from 0 with commas between them, got {text!r:.100}"
            raise ParameterError(self.id, "newcomers", reason)
        self._newcomers = places

    def refusal(self, field: Field) -> str | None:
        wrong = [agent for agent in self._newcomers if agent >= field.n_agents]
        if wrong:
            return f"newcomers {wrong} are not in 0..{field.n_agents - 1}"
        if field.n_agents - len(self._newcomers) < field.n_seats - 1:
            return f"{len(self._newcomers)} newcomers leave no {field.n_seats - 1} to meet"
        return super().refusal(field)

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        newcomers = self._newcomers
        if not newcomers:
            n = count_agent_results(standing)
            least_played = np.flatnonzero(n < np.median(n) / 2).tolist()
            # Noise below 1 breaks ties between agents of as many results.
            newcomers = least_played or [int(np.argmin(n + rng.random(len(n))))]
        others = np.setdiff1d(np.arange(standing.field.n_agents), newcomers)
        if len(others) < standing.field.n_seats - 1:
            raise PairingError(f"{len(newcomers)} newcomers leave nobody to meet")
        rows = np.array(newcomers)
        waiting = _count_in_flight(standing, rows, others)
        # How much a match of each pair narrows their difference: [newcomers, others].
        variance = standing.sd**2
        gap = standing.mu[rows][:, None] - standing.mu[others]
        gain = expected_information(gap) * (variance[rows][:, None] + variance[others])
        tie = 1 + 1e-9 * rng.random(gain.shape)
        chosen: list[Lineup] = []
        for place in range(n_blocks):
            row = place % len(rows)
            # What is in flight narrows the difference first: V becomes V / (1 + V I n).
            value = gain[row] * tie[row] / (1 + gain[row] * waiting[row])
            opponents = np.argsort(-value)[: standing.field.n_seats - 1]
            waiting[row, opponents] += standing.field.n_seats
            chosen.append((int(rows[row]), *others[opponents].tolist()))
        return chosen


def _count_in_flight(standing: Standing, rows: Ints, others: Ints) -> Floats:
    """Return the number of matches in flight of each pair: [rows, others]."""
    table = np.zeros((len(rows), len(others)))
    row_of = {agent: row for row, agent in enumerate(rows.tolist())}
    column_of = {agent: column for column, agent in enumerate(others.tolist())}
    for pair, n_matches in standing.n_in_flight.items():
        for agent, opponent in (pair, pair[::-1]):
            if agent in row_of and opponent in column_of:
                table[row_of[agent], column_of[opponent]] += n_matches
    return table


PAIRING = _Gauntlet()
