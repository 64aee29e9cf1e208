"""What crosses the queues of training: orders to trainers, reports back to control.

Orders travel control -> `train`, reports trainer -> `trained`, both as JSON objects made by
`to_wire`. A run is trained slice by slice: whoever takes the order of a slice goes on from the
state that the slice before has left.
"""

from typing import Annotated, Any

import msgspec

from arena.messages import (
    BigId,
    Count,
    Detail,
    Few,
    Hash,
    Link,
    OrderId,
    Seconds,
    Text,
    read_message,
)
from arena.parameters import Value

NoHash = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")]
Metrics = Annotated[dict[Text, Annotated[float, msgspec.Meta(ge=-1e30, le=1e30)]], Few]
MAX_FILES = 4_096


class DataFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of trajectories to learn from; `source`: where it is fetched, by a signed link."""

    sha256: Hash
    source: Link


class TrainOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A slice of a run, with everything that is needed to train it."""

    run: Text
    order: OrderId
    slice: Count
    token: Text
    game: Text
    observation_shape: list[Count]
    n_actions: Count
    algorithm: Text
    parameters: dict[str, Value]
    seed: BigId
    # SHA-256 of the state that the slice before has left, and where it is fetched; empty at first.
    state: NoHash
    source: Link
    # Where files are put: a hash follows the path.
    upload: Link
    # The run ends once it has learned from so many steps.
    max_steps: BigId
    slice_s: Seconds
    # Of trainers: nobody else can order a slice.
    key: Text
    # What is learned from, in this order; empty where uploads are.
    files: Annotated[list[DataFile], msgspec.Meta(max_length=MAX_FILES)] = []
    # Of matches: whose decisions are learned from, which is the version of the state.
    checkpoint: NoHash = ""
    # The latest that the run has published; 0 also where it has none.
    version: Count = 0


class Trained(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a slice is; the last report of it has the state from which the next one goes on.

    version: of the policy, whose sealed weights are `weights`. refusal: why the run cannot go on.
    is_given_up: the slice is to be ordered again, as a server was away; with a refusal: it broke.
    waits_for: what that server said, which is told meanwhile.
    """

    trainer: Text
    run: Text
    order: OrderId
    slice: Count
    token: Text
    key: Text
    version: Count
    n_steps: BigId
    weights: NoHash
    state: NoHash
    metrics: Metrics
    is_last: bool
    refusal: Detail = ""
    is_given_up: bool = False
    waits_for: Detail = ""


class Alive(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A trainer is at work on a slice, even if it has nothing to report."""

    trainer: Text
    run: Text
    order: OrderId
    slice: Count
    token: Text
    key: Text


Message = TrainOrder | Trained | Alive


def to_wire(message: Message) -> dict[str, Any]:
    """Return the JSON object that is sent for a message."""
    wire: dict[str, Any] = msgspec.to_builtins(message)
    return wire


def read_train_order(wire: object) -> TrainOrder:
    """Return the order. Raises MessageError naming the field that does not fit."""
    order: TrainOrder = read_message(wire, TrainOrder, "train order")
    return order


def read_trained(wire: object) -> Trained:
    """Return the report. Raises MessageError naming the field that does not fit."""
    report: Trained = read_message(wire, Trained, "report of a trainer")
    return report


def read_alive(wire: object) -> Alive:
    """Return the sign of life. Raises MessageError naming the field that does not fit."""
    alive: Alive = read_message(wire, Alive, "sign of life of a trainer")
    return alive


def describe(message: Message) -> str:
    """Return what monitors may show of a message: everybody reads them, so never a token."""
    slice_text = f"slice {message.slice} of run {message.run}"
    if isinstance(message, TrainOrder):
        return f"({message.algorithm} on {message.game}, {slice_text})"
    if isinstance(message, Alive):
        return f"({slice_text}, alive)"
    ending = f", refused: {message.refusal}" if message.refusal else ""
    return f"({slice_text}, version {message.version} after {message.n_steps} steps{ending})"
