"""POST /evaluate: decide some rows for an agent; the same request gives the same actions."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from arena.agent_passes import AskedAgent, read_agent_pass
from arena.errors import InvalidOutputError
from arena.passes import PassError
from arena.policies.network_policy import NetworkOutput
from arena.policies.sampling import check_logits, choose_greedy, sample_actions, seed_uniforms
from gameservers.head.access import AccessError, Door, find_pass
from gameservers.head.blocks import (
    BINARY,
    MAX_BYTES,
    BinaryHeader,
    Block,
    EvaluateError,
    Form,
    read_block,
    read_request,
)
from gameservers.head.networks import Networks
from inference.client import CheckpointRef, InferenceError, QueueFullError, UnavailableError

NETWORK = "network"
TEMPERATURE = "temperature"
# Of the passes for whatever lies in CHECKPOINT_BUCKET. With a colon, which the name of no server
# has: else one that calls itself evaluate would be sent such passes, as if they were for it.
BUCKET = "evaluate:"
RETRY_AFTER_S = "1"


@dataclass(frozen=True)
class Player:
    """Who decides: a network, where it runs and how it chooses. temperature 0: its best action.

    game: empty where only the form of what it sees is known.
    """

    name: str
    ref: CheckpointRef
    placement: str
    form: Form
    temperature: float = 0.0
    game: str = ""


class Evaluating:
    """Answers callers for agents that their passes name, and for those of the bucket."""

    def __init__(self, networks: Networks, *, door: Door, bucket: Mapping[str, Player]) -> None:
        """bucket: by name, changed by whoever watches it."""
        self._networks, self._door, self._bucket = networks, door, bucket

    async def evaluate(self, request: Request) -> Response:
        """Answer a caller. Raises EvaluateError, AccessError, InferenceError."""
        is_binary = request.headers.get("content-type", "").startswith(BINARY)
        question, arrays = read_request(await read_body(request), is_binary=is_binary)
        player = self.find_player(request, question.agent)
        block = read_block(question, arrays, player.form)
        temperature = choose_temperature(player, question.temperature, block)
        output = await self.ask(player, block)
        actions = choose_actions(output, block, temperature)
        head = {"agent": player.name, "checkpoint": player.ref.checkpoint, "rows": len(actions)}
        if isinstance(question, BinaryHeader):
            return _answer_binary(head, actions, output)
        return _answer_json(head, actions, output)

    async def ask(self, player: Player, block: Block) -> NetworkOutput:
        """Return what the network of a player says of the rows. Raises InferenceError."""
        return await self._networks.ask(
            player.placement, player.ref, block.observations, block.states
        )

    def find_player(self, request: Request, name: str) -> Player:
        """Return whom a caller may ask. Raises AccessError, EvaluateError."""
        token = find_pass(request)
        if token.startswith("agent:"):
            try:
                return make_player(read_agent_pass(self._door.key, token, now=time.time()))
            except PassError as error:
                raise AccessError(str(error)) from error
        self._door.require_pass(request, token, BUCKET, now=time.time())
        if not name:
            raise EvaluateError(
                "agent: missing: show the pass of an agent (of the web server, POST "
                "/api/v1/agents/<id>/head_pass/), or name a checkpoint of CHECKPOINT_BUCKET"
            )
        player = self._bucket.get(name)
        if player is None:
            present = (
                ", ".join(sorted(self._bucket)[:20]) or "none, as CHECKPOINT_BUCKET is not set"
            )
            raise EvaluateError(
                f"agent: no checkpoint {name!r:.100} here: there are {present}", 404
            )
        return player


def make_player(agent: AskedAgent) -> Player:
    """Return who decides for the holder of a pass. Raises EvaluateError."""
    plays = agent.plays
    if plays.policy != NETWORK or not plays.checkpoint:
        raise EvaluateError(
            f"agent: {agent.name} is of the policy {plays.policy}, which decides on positions: "
            f"only agents of the policy {NETWORK} answer observations"
        )
    temperature = plays.parameters.get(TEMPERATURE, 0.0)
    return Player(
        agent.name,
        CheckpointRef(plays.checkpoint, plays.source),
        plays.placement,
        Form(tuple(agent.observation_shape), agent.n_actions, plays.state_size),
        float(temperature),
        agent.game,
    )


def choose_temperature(
    player: Player, asked: float | None, block: Block, *, field: str = "seeds"
) -> float:
    """Return how actions are drawn; 0: the best ones. Raises EvaluateError without seeds for it."""
    temperature = player.temperature if asked is None else asked
    if temperature and block.seeds is None:
        raise EvaluateError(
            f"{field}: missing, and {player.name} draws its actions (temperature "
            f"{temperature:g}): give each row the seed of its decision"
        )
    return temperature


def choose_actions(output: NetworkOutput, block: Block, temperature: float) -> Any:
    """Return an action per row as the network policy of a match does. Raises EvaluateError."""
    try:
        check_logits(output.logits, block.masks)
    except InvalidOutputError as error:
        raise EvaluateError(f"the network of this agent is broken: {error}", 422) from error
    if not temperature or block.seeds is None:
        return choose_greedy(output.logits, block.masks)
    uniforms = seed_uniforms(block.seeds)
    return sample_actions(output.logits, block.masks, uniforms, temperature=temperature)


def answer_error(_: Request, error: Exception) -> Response:
    """Answer what could not be decided with the reason, and when to come again."""
    if isinstance(error, EvaluateError):
        return JSONResponse({"detail": str(error)}, error.status)
    if isinstance(error, QueueFullError | UnavailableError):
        wait = {"Retry-After": RETRY_AFTER_S}
        return JSONResponse({"detail": f"no answer now: {error}"}, 503, wait)
    assert isinstance(error, InferenceError)
    return JSONResponse({"detail": f"the network of this agent cannot answer: {error}"}, 422)


async def read_body(request: Request) -> bytes:
    """Return the body. Raises EvaluateError once it is too long."""
    pieces, n_bytes = [], 0
    async for piece in request.stream():
        n_bytes += len(piece)
        if n_bytes > MAX_BYTES:
            raise EvaluateError(
                f"the request has more than {MAX_BYTES} bytes: send fewer rows", 413
            )
        pieces.append(piece)
    return b"".join(pieces)


def _answer_json(head: dict[str, Any], actions: Any, output: NetworkOutput) -> Response:
    states = {"states": output.states.tolist()} if output.states.shape[1] else {}
    answer = {**head, "actions": actions.tolist(), "values": output.values.tolist(), **states}
    return Response(msgspec.json.encode(answer), media_type="application/json")


def _answer_binary(head: dict[str, Any], actions: Any, output: NetworkOutput) -> Response:
    """Answer actions int32 [B], values float32 [B] and states float32 [B, S] behind a line."""
    line = msgspec.json.encode({**head, "n_states": output.states.shape[1]})
    parts = (actions.astype(np.int32), output.values, output.states)
    arrays = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    return Response(line + b"\n" + arrays, media_type=BINARY)
