"""Plays what a neural network says: its best legal action, or one drawn from its distribution."""

from collections.abc import Mapping, Sequence

import numpy as np

from arena.games.base import Game, GameSpec
from arena.parameters import Parameter
from arena.policies.base import Row, accepted
from arena.policies.network_policy import (
    Decisions,
    InferenceRequest,
    NetworkOutput,
    NetworkPolicy,
)
from arena.policies.recurrent_states import RecurrentStates, check_states
from arena.policies.sampling import check_logits, choose_greedy, row_uniforms, sample_actions

_TEMPERATURE = Parameter(
    "temperature", 0.0, "0 plays the best action, 1 samples the network's distribution", 0, 100
)


class LogitsPolicy(NetworkPolicy):
    """Softmax over the legal actions, in float64, with each row's own randomness."""

    def __init__(self, game: Game, temperature: float) -> None:
        """Keep the game, to replay its matches, and how far to stray from the best action."""
        self._shape, self._n_actions = game.spec.observation_shape, game.spec.n_actions
        self._temperature = temperature
        self._recurrent = RecurrentStates(game)

    def ask(self, rows: Sequence[Row]) -> InferenceRequest:
        """Send the observations and recurrent states of the rows; look up the legal actions.

        Raises what the game raises, or the network where a recurrent state is computed again.
        """
        observations = np.empty((len(rows), *self._shape), np.float32)
        for place, row in enumerate(rows):
            observations[place] = row.state.observation(row.seat)
        states = np.zeros((len(rows), 0), np.float32)
        if rows and self.network.state_size:
            states = self._recurrent.read_before(rows, self.network)
        ticket = self.network.submit(observations, states) if rows else None
        # Masks are looked up while the network is under way.
        masks = np.empty((len(rows), self._n_actions), np.bool_)
        for place, row in enumerate(rows):
            masks[place] = row.state.legal_mask()
        return InferenceRequest(rows, ticket, observations, states, masks)

    def decide(self, question: InferenceRequest) -> Decisions:
        """Return an action per row. Raises InvalidOutputError for a block with NaN or infinity.

        Asked row by row, only the guilty one raises.
        """
        rows = question.rows
        if not rows:
            no_states = np.zeros((0, 0), np.float32)
            no_logits, no_values = np.zeros((0, self._n_actions), np.float32), no_states.reshape(0)
            return Decisions([], NetworkOutput(no_logits, no_values, no_states))
        evaluation = self.network.result(question.ticket)
        check_logits(evaluation.logits, question.masks)
        if self.network.state_size:
            after = check_states(evaluation.states, len(rows), self.network)
            self._recurrent.keep_after(rows, question.states, after)
        logits, masks, temperature = evaluation.logits, question.masks, self._temperature
        # At temperature 0 the formula would divide by 0; its limit is the best action.
        if temperature:
            chosen = sample_actions(logits, masks, row_uniforms(rows), temperature=temperature)
        else:
            chosen = choose_greedy(logits, masks)
        return Decisions(chosen.tolist(), evaluation)


class NetworkKind:
    """Plays every game that a network was made for; the network is attached after the build."""

    id = "network"
    title = "Neural network"
    version = 1
    is_batched = True
    parameters = (_TEMPERATURE,)

    def refusal(self, spec: GameSpec) -> str | None:
        """Return None, whatever the game: whether a checkpoint fits it is seen at its upload."""
        del spec
        return None

    def build(self, game: Game, parameters: Mapping[str, object]) -> LogitsPolicy:
        """Return the policy, without a network yet. Raises ParameterError."""
        values = accepted(self, game, parameters)
        return LogitsPolicy(game, float(values[_TEMPERATURE.name]))


POLICY = NetworkKind()
