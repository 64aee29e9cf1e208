"""A Redis transport that survives garbage: what is no Celery message is dropped and logged.

Play nodes may push the `reports` list directly. With kombu's own transport one item that is not
JSON, or is JSON of another form, ends the whole worker ("Unrecoverable error").
"""

import logging
from json import JSONDecodeError
from queue import Empty
from typing import Annotated, Any

import msgspec
from kombu.transport import redis

from arena.messages import RECORD_TASK, REPORTS_QUEUE

log = logging.getLogger(__name__)
Text = Annotated[str, msgspec.Meta(max_length=1_000)]


class _DeliveryInfo(msgspec.Struct):
    exchange: Text
    routing_key: Text


class _Properties(msgspec.Struct):
    delivery_tag: Text
    delivery_info: _DeliveryInfo
    body_encoding: Annotated[str, msgspec.Meta(pattern="^base64$")]


class _Headers(msgspec.Struct, forbid_unknown_fields=True):
    """No time, no group, no chain: a report asks for nothing but to be recorded."""

    task: Annotated[str, msgspec.Meta(pattern=f"^{RECORD_TASK}$")]
    id: Text
    lang: Text = "py"
    argsrepr: str = ""
    kwargsrepr: str = ""
    origin: Text | None = None
    root_id: Text | None = None
    parent_id: Text | None = None
    retries: Annotated[int, msgspec.Meta(ge=0, le=0)] = 0
    timelimit: list[None] | None = None
    ignore_result: bool = True
    replaced_task_nesting: Annotated[int, msgspec.Meta(ge=0, le=0)] = 0
    eta: None = None
    expires: None = None
    group: None = None
    group_index: None = None
    shadow: None = None
    stamped_headers: None = None
    stamps: dict[str, None] = {}


class _Embedded(msgspec.Struct, forbid_unknown_fields=True):
    """What Celery would call after the task: from a play node, nothing ever."""

    callbacks: None = None
    errbacks: None = None
    chain: None = None
    chord: None = None


class _Message(msgspec.Struct):
    """The form of the messages that Celery's protocol 2 puts on a list."""

    body: bytes
    properties: _Properties
    headers: _Headers
    content_type: Annotated[str, msgspec.Meta(pattern="^application/json$")] = msgspec.field(
        name="content-type"
    )
    content_encoding: Annotated[str, msgspec.Meta(pattern="^utf-8$")] = msgspec.field(
        name="content-encoding"
    )


_Arguments = Annotated[list[dict[str, msgspec.Raw]], msgspec.Meta(min_length=1, max_length=1)]
_NoKeywords = Annotated[dict[str, msgspec.Raw], msgspec.Meta(max_length=0)]
_calls = msgspec.json.Decoder(tuple[_Arguments, _NoKeywords, _Embedded])


class Channel(redis.Channel):
    """A channel on which an item that is not JSON is dropped."""

    def _brpop_read(self, **options: Any) -> Any:
        try:
            # The stubs of kombu leave its private parts out.
            return super()._brpop_read(**options)  # type: ignore[misc]
        except (JSONDecodeError, UnicodeDecodeError) as error:
            log.warning("an item that is not JSON was dropped: %s", error)
            raise Empty from error


class Transport(redis.Transport):
    """Redis, with every report checked before Celery sees it."""

    Channel = Channel

    def _deliver(self, message: Any, queue: str | None) -> None:
        fault = fault_of(message) if queue == REPORTS_QUEUE else None
        if fault is None:
            super()._deliver(message, queue)
        else:
            log.warning("an item of queue %s that is no task message was dropped: %s", queue, fault)


def fault_of(message: object) -> str | None:
    """Return what is wrong with a message, or None for a well-formed call of the one task."""
    try:
        checked = msgspec.convert(message, type=_Message, strict=True)
        _calls.decode(checked.body)
    except (msgspec.ValidationError, msgspec.DecodeError, ValueError, RecursionError) as error:
        return str(error)[:200]
    return None
