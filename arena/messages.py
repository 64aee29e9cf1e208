"""What crosses a queue: match orders out, reports back. Web, workers and gpu share nothing else.

Orders travel control -> `play.<node>`, reports travel play node -> `reports`, or to the queue that
their order names where several recorders share the work. Both are JSON objects made by `to_wire`
and read by `read_order` and `read_report`, which refuse anything that does not have the declared
form (a bool or a float is not an int).
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec

from arena.errors import MessageError
from arena.parameters import Value
from arena.queues import MAX_RECORDERS, REPORTS_QUEUE

MAX_DETAIL = 500
# In the versions of a node: which orders it reads.
ORDERS, ORDERS_WITH_ACTIONS, ORDERS_WITH_SERVERS = "orders", "2", "3"
# Plug-ins that a node reports the hashes of: what a match is played with.
PLAYED_PLUGINS = ("games", "policies", "architectures")

Text = Annotated[str, msgspec.Meta(max_length=200)]
Detail = Annotated[str, msgspec.Meta(max_length=MAX_DETAIL)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
BigId = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
OrderId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
# Of a match, from its opening on; the most that a result may have.
Actions = Annotated[
    str, msgspec.Meta(max_length=100_000, pattern="^([0-9]{1,10}( [0-9]{1,10})*)?$")
]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e7)]
Rate = Annotated[float, msgspec.Meta(ge=0, le=1)]
# With fractions: thousands of matches of a small game end within one.
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=2**31 - 1)]
ReportsQueue = Annotated[str, msgspec.Meta(pattern=r"^reports(\.[1-9])?$")]
Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Few = msgspec.Meta(max_length=100)
# Of lists: a database refuses statements of 300,000 numbers, which looks as if it were away.
Many = msgspec.Meta(max_length=10_000)
# Path and query of a signed address on the web server: /files/...?until=...&signature=...
Link = Annotated[str, msgspec.Meta(max_length=400)]


class Ending(StrEnum):
    """How an attempt ended, as its player saw it."""

    DONE = "done"
    FORFEIT = "forfeit"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class Reason(StrEnum):
    """Why an attempt ended other than by the rules of the game."""

    NONE = ""
    CRASH = "crash"
    ILLEGAL = "illegal"
    INVALID = "invalid"
    TIMEOUT = "timeout"
    ERROR = "error"
    TOO_LONG = "too_long"
    RETURNED = "returned"
    NODE_LOST = "node_lost"
    EXPIRED = "expired"
    GPU_LOST = "gpu_lost"
    SITE_LOST = "site_lost"
    # A line to a game server broke, or nothing came over it: another attempt.
    SERVER_LOST = "server_lost"
    # A game server answered what is no message, no state or no returns of its game.
    SERVER_FAULT = "server_fault"
    # The program of an agent cannot be used on the node.
    PROGRAM_LOST = "program_lost"
    # The actions that an attempt was to go on from are none of its game.
    UNFIT = "unfit"
    # Where its network runs, the plug-in is missing that builds it.
    NO_ARCHITECTURE = "no_architecture"


class AgentOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to build one agent of an order."""

    policy: Text
    parameters: dict[str, Value]
    checkpoint: Text = ""
    placement: Text = "local"
    # Where the checkpoint is fetched.
    source: Link = ""
    # Floats of recurrent state that travel with each row; 0 for a feed-forward network.
    state_size: Count = 0
    # Of its code (matches.models.versions); empty: not known, so it is not compared.
    version: Text = ""


# array_like: an order has many rows, which travel without the names of their fields.
class MatchOrderRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One match of an order; `seats` are indices into the agents of the order."""

    match: BigId
    attempt: Count
    game_seed: BigId
    seats: list[Count]
    token: Text


class ServerLink(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A game server that plays matches of an order: where a player dials it, and its pass."""

    name: Text
    address: Text
    token: Text


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits enforced from outside the player, in seconds of its CPU time and of the wall clock."""

    move_s: Seconds = 10.0
    match_s: Seconds = 600.0


class FaultRates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Faults to emulate; see arena.fault_injection."""

    error_rate: Annotated[Rate, msgspec.Meta(description="Emulated exceptions.")] = 0.0
    invalid_rate: Annotated[Rate, msgspec.Meta(description="Emulated invalid values.")] = 0.0
    hang_rate: Annotated[Rate, msgspec.Meta(description="Emulated hangs.")] = 0.0
    hang_s: Annotated[Seconds, msgspec.Meta(description="How long it hangs, in seconds.")] = 30.0
    charge: Annotated[
        Text, msgspec.Meta(description="Who is at fault.", extra={"fixed": ("platform", "agent")})
    ] = "platform"


class MatchOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A chunk of matches of one game with everything needed to play it.

    A field that has its default is not sent: a node of an older version refuses fields it lacks.
    """

    order: OrderId
    token: Text
    game: Text
    rules_version: Count
    game_parameters: dict[str, Value]
    opening_plies: Count
    limits: Limits
    agents: list[AgentOrder]
    matches: Annotated[list[MatchOrderRow], msgspec.Meta(min_length=1)]
    faults: FaultRates | None = None
    # Of the rules, as `version` of an agent.
    game_version: Text = ""
    # Where pieces of trajectories are put; empty when none are stored.
    trajectories: Link = ""
    # False: a match that is interrupted starts again (GameSpec.is_replayable).
    is_replayable: bool = True
    # By match, what was played in it before: it goes on from there. Empty: all are new.
    actions: Annotated[list[Actions], Many] = []
    # Where its start and its results are reported.
    reports: ReportsQueue = REPORTS_QUEUE
    # Of a game that game servers play: who they are, and by match which of them plays it.
    servers: Annotated[list[ServerLink], Few] = []
    served_by: Annotated[list[Count], Many] = []


# array_like as above: fields are told by their place, so new ones go to the end.
class ResultRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """How one attempt ended; `ranks` is empty unless it was played to the end or forfeited."""

    match: BigId
    attempt: Count
    token: Text
    ending: Ending
    ranks: list[Count]
    reason: Reason
    seat: int
    detail: Detail
    n_steps: Count
    duration_ms: Milliseconds
    actions: Annotated[str, msgspec.Meta(max_length=100_000)]
    # SHA-256 of the piece that holds the trajectories of this attempt, put before this report.
    trajectory: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")] = ""
    # Of its moves, packed by arena.move_notes, in base64; empty from a node of before there were
    # any. Three bytes for each of the most actions that fit above.
    notes: Annotated[str, msgspec.Meta(max_length=200_000)] = ""
    # By seat, of an episode that was played to its end.
    returns: Annotated[list[float], Few] = []
    # Name of the game server that played it; empty where the player did.
    server: Text = ""
    # Of an interrupted attempt: its time since its last action, which the next one plays again.
    lost_ms: Milliseconds = 0.0


class BegunRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """How far an attempt has come that has not ended: all of its actions so far."""

    match: BigId
    attempt: Count
    token: Text
    actions: Actions


class CheckOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint to check on a gpu worker: it must load, fit its game and answer finitely."""

    checkpoint: Hash
    source: Link
    token: Text
    game: Text
    n_actions: Count
    observation_shape: list[Count]
    # Of gpu workers: play nodes, which ring doorbells in the same queue, cannot order checks.
    key: Text


class Alive(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="alive", tag_field="kind"):
    """A node says that it lives, what it can do and which orders it has in hand.

    `key` proves that a report is of the node that it names (arena.credentials).
    """

    node: Text
    incarnation: Text
    slots: Annotated[int, msgspec.Meta(ge=1, le=4096)]
    capabilities: Annotated[list[Text], Few]
    versions: Annotated[dict[Text, Text], Few]
    orders: Annotated[list[OrderId], Few]
    key: Text
    # Names the machine, where two live processes cannot have the same node name; else empty.
    place: Text = ""
    # What its operator says of the machine (class, price, zone), and how busy it is (cpu, memory).
    labels: Annotated[dict[Text, Text], Few] = {}
    load: Annotated[dict[Text, Annotated[float, msgspec.Meta(ge=0, le=1e6)]], Few] = {}
    # SHA-256 of its plug-in files, as in "games/my_game"; None from a node of an older version.
    plugins: Annotated[dict[Text, Hash], Many] | None = None
    # Of a game server (the evaluation head reports for it): what it plays, where it is dialled.
    game: Text = ""
    address: Text = ""


class Started(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="started", tag_field="kind"
):
    """A node has taken an order off its queue and begins to play it."""

    node: Text
    incarnation: Text
    order: OrderId
    token: Text
    key: Text


class Results(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="results", tag_field="kind"
):
    """Matches that ended since the last report; `is_last` closes the order.

    `executing` names the matches that were begun and have not ended, so that a node lost while
    it played a match can be told from one lost while the match waited.
    """

    node: Text
    incarnation: Text
    order: OrderId
    results: Annotated[list[ResultRow], Many]
    executing: Annotated[list[BigId], Many]
    is_last: bool
    key: Text
    begun: Annotated[list[BegunRow], Many] = []


class Mark(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="mark", tag_field="kind"):
    """Control's own mark: what was reported before `at` (database time, ISO 8601) is recorded.

    In the queue of one shard it says so of that queue.
    """

    at: Text
    token: Text
    shard: Annotated[int, msgspec.Meta(ge=0, lt=MAX_RECORDERS)] = 0


class Checked(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="checked", tag_field="kind"
):
    """A gpu worker's verdict on a checkpoint; `refusal` is empty when it can play."""

    node: Text
    checkpoint: Hash
    token: Text
    refusal: Detail
    n_parameters: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    state_size: Count
    # Measured forward of one row on one CPU core: small networks are placed in the player.
    row_ms: Annotated[float, msgspec.Meta(ge=0, le=1e9)]


# Not sent through a queue: it is overwritten in the fast store, and only the last one counts.
class Serving(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a gpu worker did lately, for dashboards: it puts this into the fast store every second.

    Counts are of the last seconds; `n_faults` is since its start. Times are None while it answers
    nothing.
    """

    gpu: Text
    shards: list[Count]
    # Requests in the queues of its shards.
    n_waiting: Count
    n_models: Count
    requests_per_s: Seconds
    forwards_per_s: Seconds
    rows_per_s: Annotated[float, msgspec.Meta(ge=0)]
    # From asking to the answer, of the requests that were answered.
    p50_ms: Seconds | None
    p99_ms: Seconds | None
    n_faults: BigId


Report = Alive | Started | Results | Mark | Checked


def to_wire(message: Report | MatchOrder | CheckOrder) -> dict[str, Any]:
    """Return the JSON object that is sent for a message; read_order and the like take it back."""
    wire: dict[str, Any] = msgspec.to_builtins(message)
    return wire


def read_order(wire: object) -> MatchOrder:
    """Return the order. Raises MessageError naming the field that does not fit."""
    order: MatchOrder = read_message(wire, MatchOrder, "match order")
    return order


def read_check(wire: object) -> CheckOrder:
    """Return the order of a check. Raises MessageError naming the field that does not fit."""
    order: CheckOrder = read_message(wire, CheckOrder, "check order")
    return order


def read_report(wire: object) -> Report:
    """Return the report. Raises MessageError naming the field that does not fit."""
    report: Report = read_message(wire, Report, "report")
    return report


def read_message(wire: object, form: Any, name: str) -> Any:
    """Return what was sent as a message of that form; what: its name. Raises MessageError."""
    try:
        return msgspec.convert(wire, type=form, strict=True)
    # msgspec lets huge ints and deep nesting through as errors of Python's own.
    except (msgspec.ValidationError, OverflowError, RecursionError) as error:
        raise MessageError(f"broken {name}: {error}") from error
