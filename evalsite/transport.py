"""A Redis transport that survives garbage: what is no Celery message is dropped and logged.

Play nodes may push the `reports` list directly. With kombu's own transport one item that is not
JSON, or is JSON of another form, ends the whole worker ("Unrecoverable error").
"""

import json
import logging
from json import JSONDecodeError
from queue import Empty
from typing import Annotated, Any

import msgspec
from kombu.transport import redis

from arena.messages import REPORTS_QUEUE

log = logging.getLogger(__name__)
Text = Annotated[str, msgspec.Meta(max_length=1_000)]


class _DeliveryInfo(msgspec.Struct):
    exchange: Text
    routing_key: Text


class _Properties(msgspec.Struct):
    delivery_tag: Text
    delivery_info: _DeliveryInfo
    body_encoding: Annotated[str, msgspec.Meta(pattern="^base64$")]


class _Headers(msgspec.Struct):
    task: Text
    id: Text
    lang: Text
    retries: Annotated[int, msgspec.Meta(ge=0, le=100)] = 0
    eta: Text | None = None
    expires: Text | float | None = None
    timelimit: list[float | None] | None = None
    origin: Text | None = None
    root_id: Text | None = None
    parent_id: Text | None = None
    group: Text | None = None
    group_index: int | None = None
    shadow: Text | None = None
    ignore_result: bool = True
    replaced_task_nesting: int = 0
    stamped_headers: list[Text] | None = None
    stamps: dict[str, Any] | None = None


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
    """Return what is wrong with a message, or None for a well-formed JSON task message."""
    try:
        checked = msgspec.convert(message, type=_Message, strict=True)
        body = json.loads(checked.body)
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        return str(error)[:200]
    return None if _is_call(body) else "its body is not [args, kwargs, embed]"


def _is_call(body: object) -> bool:
    kinds = (list, dict, dict)
    return (
        isinstance(body, list)
        and len(body) == len(kinds)
        and all(isinstance(part, kind) for part, kind in zip(body, kinds, strict=True))
    )
