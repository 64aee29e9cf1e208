"""POST /act: the action that an agent would choose in a position, and how it values it.

The position is told by its actions, where the game is played here, or by what its seat sees.
"""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from arena.errors import ArenaError, IllegalActionError, UnknownNameError
from arena.games import registry as games
from arena.games.base import OVER, Game, State
from arena.messages import BigId, Count
from arena.policies.base import Row
from arena.policies.network_policy import NetworkOutput
from arena.policies.sampling import action_probabilities
from gameservers.head.blocks import Block, EvaluateError, JsonRequest, decode_json, read_block
from gameservers.head.evaluating import (
    Evaluating,
    Player,
    choose_actions,
    choose_temperature,
    read_body,
)

# Of a seeded opening: each ply is played at random, and tried again where the game would be over.
MOST_PLIES = 64
Temperature = Annotated[float, msgspec.Meta(ge=0, le=100)]


class Position(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A position of a game that is played here, by the actions that led to it."""

    actions: list[Count]
    game_seed: BigId = 0
    opening_plies: Annotated[int, msgspec.Meta(ge=0, le=MOST_PLIES)] = 0


class ActRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One decision: of a position, or of an observation with the legal actions (all without)."""

    position: Position | None = None
    observation: list[Any] | None = None
    legal: list[int] | None = None
    state: list[float] | None = None
    seed: BigId | None = None
    agent: str = ""
    temperature: Temperature | None = None


class _Row(NamedTuple):
    """The row to decide, a block of one, and the position where it is known."""

    block: Block
    state: State | None


async def act(evaluating: Evaluating, request: Request) -> Response:
    """Answer a caller. Raises EvaluateError, AccessError, InferenceError."""
    question = decode_json(await read_body(request), ActRequest)
    player = evaluating.find_player(request, question.agent)
    # Replaying a long game takes longer than others should wait.
    row = await asyncio.to_thread(_read_row, question, player)
    temperature = choose_temperature(player, question.temperature, row.block, field="seed")
    output = await evaluating.ask(player, row.block)
    action = int(choose_actions(output, row.block, temperature)[0])
    answer = {"agent": player.name, "checkpoint": player.ref.checkpoint}
    answer |= _describe_decision(action, row, output)
    return Response(msgspec.json.encode(answer), media_type="application/json")


def _read_row(question: ActRequest, player: Player) -> _Row:
    """Return the row of a request. Raises EvaluateError."""
    if (question.position is None) == (question.observation is None):
        raise EvaluateError("position or observation: send one of the two, never both")
    if question.position is None:
        legal = range(player.form.n_actions) if question.legal is None else question.legal
        return _Row(_make_block(question, player, question.observation, legal, question.seed), None)
    if question.legal is not None:
        raise EvaluateError("legal: leave it out, the position says which actions are legal")
    state = _replay_position(question.position, player)
    seat, seed = state.to_move(), question.seed
    if seed is None:
        seed = Row(state, seat, question.position.game_seed).seed()
    observation = state.observation(seat).tolist()
    return _Row(_make_block(question, player, observation, state.legal_actions(), seed), state)


def _make_block(
    question: ActRequest, player: Player, observation: Any, legal: Sequence[int], seed: int | None
) -> Block:
    if player.form.n_states and question.state is None:
        raise EvaluateError(
            f"state: missing, and {player.name} is recurrent: send the `state` of the answer "
            f"before, or {player.form.n_states} zeros at its first decision"
        )
    request = JsonRequest(
        observations=[observation],
        legal=[list(legal)],
        seeds=None if seed is None else [seed],
        states=None if question.state is None else [question.state],
    )
    try:
        return read_block(request, memoryview(b""), player.form)
    except EvaluateError as error:
        # It names the columns of a block, of which this is one row.
        column, _, problem = str(error).partition(":")
        raise EvaluateError(f"{column.removesuffix('s')}:{problem}") from error


def _replay_position(position: Position, player: Player) -> State:
    """Return the position. Raises EvaluateError."""
    game = _find_game(player)
    if len(position.actions) > game.spec.max_steps:
        most = f"a game of {game.spec.id} has at most {game.spec.max_steps}"
        raise EvaluateError(f"position.actions: {len(position.actions)} of them, and {most}")
    try:
        state = game.start(position.game_seed, opening_plies=position.opening_plies)
    except ArenaError as error:
        raise EvaluateError(f"position.opening_plies: {error}") from error
    for place, action in enumerate(position.actions):
        try:
            state.apply(action)
        except IllegalActionError as error:
            raise EvaluateError(f"position.actions.{place}: {error}") from error
    if state.to_move() == OVER:
        raise EvaluateError("position.actions: the game is over: there is nothing to decide")
    return state


def _find_game(player: Player) -> Game:
    """Return the game of an agent, if it can be replayed here. Raises EvaluateError."""
    tell = "send `observation` and `legal` instead"
    if not player.game:
        raise EvaluateError(f"position: the game of {player.name} is not known here: {tell}")
    try:
        # Under its default parameters: under others a game may last as long as it likes.
        game = games.get(player.game)
    except UnknownNameError as error:
        raise EvaluateError(f"position: {error}: {tell}") from error
    if game.spec.served or not game.spec.is_replayable:
        raise EvaluateError(f"position: {player.game} cannot be replayed here: {tell}")
    return game


def _describe_decision(action: int, row: _Row, output: NetworkOutput) -> dict[str, Any]:
    """Return the decision, what the network gives each action, and what it expects."""
    chances = action_probabilities(output.logits, row.block.masks)[0]
    answer: dict[str, Any] = {
        "action": action,
        "probabilities": chances.tolist(),
        "value": float(output.values[0]),
    }
    if row.state is not None:
        names = {n: row.state.action_name(n) for n in row.state.legal_actions()}
        answer |= {"seat": row.state.to_move(), "name": names[action]}
        answer["advice"] = _rank_actions(names, chances)
    if output.states.shape[1]:
        answer["state"] = output.states[0].tolist()
    return answer


def _rank_actions(names: dict[int, str], chances: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return the legal actions by name, the likeliest first."""
    ranked = sorted(names, key=lambda action: (-chances[action], action))
    return [
        {"action": action, "name": names[action], "probability": float(chances[action])}
        for action in ranked
    ]
