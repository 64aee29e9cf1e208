"""The recurrent states of the matches that a network plays, one per match and seat.

They live as long as the state of the game. One that is not known, as after a player was lost, is
computed again: the match is replayed from its seed and the network shown what the seat had seen.
"""

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from arena.errors import InvalidOutputError
from arena.games.base import Game, State
from arena.policies.base import Row
from arena.policies.network_policy import FloatBatch, Network


class SeatMemory(NamedTuple):
    """The last decision of a seat: after how many actions, and the state before and after it."""

    n_actions: int
    before: FloatBatch
    after: FloatBatch


class RecurrentStates:
    """What the network remembers of each match.

    Every decision of a seat is asked of its policy: between two of them only others have moved.
    """

    def __init__(self, game: Game) -> None:
        """Keep the game, to replay its matches; remember nothing yet."""
        self._game = game
        # Weak: what is kept of a match ends with its state.
        self._kept: WeakKeyDictionary[State, dict[int, SeatMemory]] = WeakKeyDictionary()

    def read_before(self, rows: Sequence[Row], network: Network) -> FloatBatch:
        """Return the recurrent state of each row's seat before the row, float32 [B, S].

        Raises whatever the network raises where a state has to be computed again.
        """
        states = np.zeros((len(rows), network.state_size), np.float32)
        unknown = []
        for place, row in enumerate(rows):
            last = self._kept.get(row.state, {}).get(row.seat)
            n_actions = len(row.state.actions)
            if last is not None and last.n_actions <= n_actions:
                # The same row again, as when a block failed and its rows are asked one by one.
                states[place] = last.before if last.n_actions == n_actions else last.after
            elif n_actions:
                unknown.append(place)
        if unknown:
            states[unknown] = self._recompute_states([rows[place] for place in unknown], network)
        return states

    def keep_after(self, rows: Sequence[Row], before: FloatBatch, after: FloatBatch) -> None:
        """Remember the states before and after the rows."""
        for row, old, new in zip(rows, before, after, strict=True):
            seats = self._kept.setdefault(row.state, {})
            seats[row.seat] = SeatMemory(len(row.state.actions), old.copy(), new.copy())

    def _recompute_states(self, rows: Sequence[Row], network: Network) -> FloatBatch:
        """Return the states that the network reaches by what the rows' seats have seen so far."""
        histories = [self._replay_observations(row) for row in rows]
        states = np.zeros((len(rows), network.state_size), np.float32)
        # All rows in step, one block a depth: 50 matches cost as many forwards as the longest.
        for depth in range(max(map(len, histories))):
            places = [place for place, blocks in enumerate(histories) if len(blocks) > depth]
            observations = np.stack([histories[place][depth] for place in places])
            answer = network.result(network.submit(observations, states[places]))
            states[places] = check_states(answer.states, len(places), network)
        return states

    def _replay_observations(self, row: Row) -> list[FloatBatch]:
        """Return the observations that the seat has decided on, in their order."""
        observations = []
        state = self._game.start(row.game_seed, opening_plies=len(row.state.opening))
        for action in row.state.actions:
            if state.to_move() == row.seat:
                observations.append(np.asarray(state.observation(row.seat), np.float32))
            state.apply(action)
        return observations


def check_states(states: FloatBatch, n_rows: int, network: Network) -> FloatBatch:
    """Return the states. Raises InvalidOutputError unless they are [B, S] and finite."""
    expected = (n_rows, network.state_size)
    if states.shape != expected or not np.isfinite(states).all():
        problem = f"{states.shape}" if states.shape != expected else "NaN or infinity"
        raise InvalidOutputError(f"recurrent states must be finite and {expected}, got {problem}")
    return states
