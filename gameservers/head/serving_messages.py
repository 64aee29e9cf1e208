"""What a server that dials in says on its line to the head, and what it is told there."""

from typing import Any

import msgspec

from arena.errors import MessageError
from arena.games.line_messages import ServerHello


class ServingHello(ServerHello, frozen=True, tag="hello", tag_field="kind"):
    """Who offers slots, and the pass that lets it; said again and again as a sign of life."""

    token: str = ""


class Leaving(msgspec.Struct, frozen=True, tag="leaving", tag_field="kind"):
    """The server takes no new line; those that are open end by themselves."""


ServingMessage = ServingHello | Leaving

_one: msgspec.json.Decoder[ServingMessage] = msgspec.json.Decoder(ServingMessage)
_many: msgspec.json.Decoder[list[ServingMessage]] = msgspec.json.Decoder(list[ServingMessage])


def read_serving(text: str) -> list[ServingMessage]:
    """Return the messages of a frame, an object or an array of them. Raises MessageError."""
    try:
        return _many.decode(text) if text.lstrip().startswith("[") else [_one.decode(text)]
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MessageError(f"no message of a server that dials in: {error}"[:300]) from error


def accepted() -> dict[str, Any]:
    """Return the answer to the first hello of a server that may serve."""
    return {"kind": "accepted"}


def dial(channel: str) -> dict[str, Any]:
    """Return the wish for a line: the server opens /serve/<channel> for a player."""
    return {"kind": "dial", "channel": channel}


def refused(reason: str, detail: str) -> dict[str, Any]:
    """Return why a server may not serve, before its line is closed."""
    return {"kind": "error", "reason": reason, "detail": detail}
