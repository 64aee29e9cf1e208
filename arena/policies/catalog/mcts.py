"""Monte-Carlo tree search with random rollouts: OpenSpiel's, which solves what it can prove."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel

from arena.games.base import Game, GameSpec
from arena.games.openspiel import native_of
from arena.parameters import Parameter
from arena.policies.base import Row, accepted
from arena.policies.search import search_refusal

_SIMULATIONS = Parameter("simulations", 100, "rollouts per decision", 1, 100_000)
_EXPLORATION = Parameter("exploration", 2.0, "the constant c of UCT", 0, 100)
_MAX_TREE_MIB = 256
# The first simulation looks at no action.
_LEAST_FOR_VALUES = 2
# OpenSpiel takes seeds of 31 bits.
_ENGINE_SEEDS = 2**31


class MctsPolicy:
    """UCT with one rollout per simulation.

    A new tree for every decision: one that is kept would make an answer depend on what was asked
    before, and a replayed match would differ.
    """

    __slots__ = ("_exploration", "_simulations", "last_values")

    def __init__(self, simulations: int, exploration: float) -> None:
        """Keep how much and how widely to search."""
        self._simulations, self._exploration = simulations, exploration
        self.last_values: list[float | None] = []

    def act(self, rows: Sequence[Row]) -> list[int]:
        """Return the action that was tried most per row; each row is searched on its own."""
        searched = [self._search_row(row) for row in rows]
        self.last_values = [value for _, value in searched]
        return [action for action, _ in searched]

    def _search_row(self, row: Row) -> tuple[int, float | None]:
        """Search with fresh generators, so that the row alone decides what it answers."""
        native, seed = native_of(row.state), row.seed() % _ENGINE_SEEDS
        searcher: Any = pyspiel.MCTSBot(
            native.get_game(),
            pyspiel.RandomRolloutEvaluator(1, seed),
            self._exploration,
            self._simulations,
            _MAX_TREE_MIB,
            True,  # solve: keep proven wins and losses
            seed,
            False,  # verbose
        )
        if self._simulations < _LEAST_FOR_VALUES:
            return int(searcher.step(native)), None
        best = searcher.mcts_search(native).best_child()
        # An outcome is one that the search has proved; else the mean of the rollouts counts.
        outcome = best.outcome
        value = outcome[row.seat] if outcome else best.total_reward / max(1, best.explore_count)
        return int(best.action), float(value)


class MctsKind:
    """Plays OpenSpiel's games of perfect information, with or without chance, for any seats."""

    id = "mcts"
    title = "Monte-Carlo tree search"
    version = 1
    is_batched = False
    parameters = (_SIMULATIONS, _EXPLORATION)

    def refusal(self, spec: GameSpec) -> str | None:
        """Return why the game cannot be searched, or None."""
        return search_refusal(spec)

    def build(self, game: Game, parameters: Mapping[str, object]) -> MctsPolicy:
        """Return the policy. Raises ParameterError or UnsupportedGameError."""
        values = accepted(self, game, parameters)
        return MctsPolicy(int(values[_SIMULATIONS.name]), float(values[_EXPLORATION.name]))


POLICY = MctsKind()
