"""What may lie in a queue: plain calls of the few tasks that its consumer knows, and nothing else.

Whoever may push a list may push any bytes. The consumers check each item before Celery sees it:
100,000 nested brackets or a number of 5,000 digits end a Celery worker in Python's own JSON reader,
and a well-formed message could name another task, a chain or a time far ahead.
"""

from base64 import b64decode
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from arena.errors import MessageError
from arena.messages import CheckOrder, Count, MatchOrder, Report, Text
from arena.queues import (
    CHECK_TASK,
    DRAIN_TASK,
    EXPERIENCE_ALIVE_TASK,
    EXPERIENCE_RECORD_TASK,
    PLAY_TASK,
    RECORD_TASK,
    REPORTS_QUEUE,
    TRAIN_QUEUE,
    TRAIN_TASK,
    TRAINED_QUEUE,
    gpu_queue,
    play_queue,
)
from arena.train_messages import Alive, Trained, TrainOrder

# Bytes of an item: a full report (2 MB of actions, 1,000 details) in base64 is about 10 MB.
MAX_ITEM = 24 * 2**20
# Celery cuts what it shows of arguments at about 1,024 characters.
ShortText = Annotated[str, msgspec.Meta(max_length=2_000)]
Scalar = Annotated[str, msgspec.Meta(max_length=1_000)] | int | float | bool | None
_NO_KEYWORDS = Annotated[dict[str, Scalar], msgspec.Meta(max_length=0)]


class _DeliveryInfo(msgspec.Struct, forbid_unknown_fields=True):
    exchange: ShortText
    routing_key: ShortText


class _Properties(msgspec.Struct, forbid_unknown_fields=True):
    """Kombu's part; a call that is sent again carries who sent it and what monitors show of it."""

    delivery_tag: ShortText
    delivery_info: _DeliveryInfo
    body_encoding: Annotated[str, msgspec.Meta(pattern="^base64$")]
    delivery_mode: Annotated[int, msgspec.Meta(ge=1, le=2)] = 2
    priority: Annotated[int, msgspec.Meta(ge=0, le=9)] | None = 0
    correlation_id: ShortText | None = None
    reply_to: ShortText | None = None
    expiration: ShortText | None = None
    argsrepr: ShortText | None = None
    kwargsrepr: ShortText | None = None
    origin: ShortText | None = None


class _PlainHeaders(msgspec.Struct, forbid_unknown_fields=True):
    """No time, no group, no chain: such a call asks for nothing but to be done now."""

    task: ShortText
    id: ShortText
    lang: ShortText = "py"
    argsrepr: ShortText = ""
    kwargsrepr: ShortText = ""
    origin: ShortText | None = None
    root_id: ShortText | None = None
    parent_id: ShortText | None = None
    retries: Annotated[int, msgspec.Meta(ge=0, le=0)] = 0
    # Exactly two: any other number of them ends a Celery worker, which unpacks them.
    timelimit: tuple[None, None] | None = None
    ignore_result: bool = True
    replaced_task_nesting: Annotated[int, msgspec.Meta(ge=0, le=0)] = 0
    eta: None = None
    expires: None = None
    group: None = None
    group_index: None = None
    shadow: None = None
    stamped_headers: None = None
    stamps: dict[str, None] = {}


class _TimedHeaders(_PlainHeaders, forbid_unknown_fields=True):
    """A call that may wait, expire, be tried again or come from the clock of beat."""

    retries: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0
    eta: ShortText | None = None  # type: ignore[assignment]
    expires: ShortText | None = None  # type: ignore[assignment]
    periodic_task_name: ShortText | None = None


class _EmbeddedCalls(msgspec.Struct, forbid_unknown_fields=True):
    """What Celery would call after the task: nothing ever."""

    callbacks: None = None
    errbacks: None = None
    chain: None = None
    chord: None = None


class TaskForm:
    """A task that a queue may call: the form of its arguments, and whether it may wait.

    envelopes: decodes an item of the queue, as Celery's protocol 2 puts it there; bodies: decodes
    the arguments in it.
    """

    def __init__(self, arguments: Any, *, keywords: Any = _NO_KEYWORDS, is_timed: bool) -> None:
        # As Celery's protocol 2 puts it on a list; the headers name what Celery does with the call.
        message = msgspec.defstruct(
            "Message",
            [
                ("body", str),
                ("properties", _Properties),
                ("headers", _TimedHeaders if is_timed else _PlainHeaders),
                ("content_type", Annotated[str, msgspec.Meta(pattern="^application/json$")]),
                ("content_encoding", Annotated[str, msgspec.Meta(pattern="^utf-8$")]),
            ],
            rename={"content_type": "content-type", "content_encoding": "content-encoding"},
            forbid_unknown_fields=True,
        )
        self.envelopes = msgspec.json.Decoder(message)
        self.bodies = msgspec.json.Decoder(tuple[arguments, keywords, _EmbeddedCalls])


def timed_task(*, most: int = 4) -> TaskForm:
    """Return a call with a few plain values, as control and beat make them."""
    limited = msgspec.Meta(max_length=most)
    keywords = Annotated[dict[ShortText, Scalar], limited]
    return TaskForm(Annotated[list[Scalar], limited], keywords=keywords, is_timed=True)


REPORT_TASKS = {RECORD_TASK: TaskForm(tuple[Report], is_timed=False)}
ORDER_TASKS = {PLAY_TASK: TaskForm(tuple[MatchOrder], is_timed=False)}
# Doorbells come from play nodes, so none may wait; a check is tried again by its worker.
GPU_TASKS = {
    DRAIN_TASK: TaskForm(tuple[Count, Text], is_timed=False),
    CHECK_TASK: TaskForm(tuple[CheckOrder], is_timed=True),
}
TRAIN_TASKS = {TRAIN_TASK: TaskForm(tuple[TrainOrder], is_timed=False)}
TRAINED_TASKS = {
    EXPERIENCE_RECORD_TASK: TaskForm(tuple[Trained], is_timed=False),
    EXPERIENCE_ALIVE_TASK: TaskForm(tuple[Alive], is_timed=False),
}


def tasks_of_queue(queue: str) -> Mapping[str, TaskForm]:
    """Return the tasks that a queue may call; none for a queue that is not ours."""
    kind, _, _ = queue.partition(".")
    return _BY_KIND.get(kind, {})


_BY_KIND = {
    REPORTS_QUEUE: REPORT_TASKS,
    gpu_queue(0): GPU_TASKS,
    play_queue("").removesuffix("."): ORDER_TASKS,
    TRAIN_QUEUE: TRAIN_TASKS,
    TRAINED_QUEUE: TRAINED_TASKS,
}


# Read first and alone: which form an item must have depends on the task that it names.
class _TaskName(msgspec.Struct):
    task: ShortText


class _TaskHeader(msgspec.Struct):
    headers: _TaskName


_addresses = msgspec.json.Decoder(_TaskHeader)


def read_item(item: bytes, calls: Mapping[str, TaskForm]) -> tuple[Any, ...]:
    """Return the arguments of the call in an item of a queue. Raises MessageError naming the fault.

    calls: the tasks that the queue may call, by name.
    """
    # Before anything is parsed: reading costs time and memory in proportion to the bytes.
    if len(item) > MAX_ITEM:
        raise MessageError(f"an item of {len(item)} bytes; at most {MAX_ITEM} are read")
    try:
        task = _addresses.decode(item).headers.task
        if task not in calls:
            raise MessageError(f"task {task[:100]!r}; this queue calls {', '.join(sorted(calls))}")
        envelope: Any = calls[task].envelopes.decode(item)
        arguments, _, _ = calls[task].bodies.decode(b64decode(envelope.body, validate=True))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MessageError(str(error)[:200]) from error
    return tuple(arguments)
