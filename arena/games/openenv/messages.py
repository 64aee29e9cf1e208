"""What is said on a WebSocket of OpenEnv: a session of its own for each connection.

    {"type": "reset", "data": {"seed": 7}}     {"type": "step", "data": {...}}
    {"type": "state"}                          {"type": "close"}

Each is answered once, but `close`, which ends the session. Source: openenv-core 0.3.0 and openenv
0.10.0, `core/env_server/http_server.py`; the older one leaves `metadata` out.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from arena.errors import MessageError

CAPACITY_REACHED: Final = "CAPACITY_REACHED"
"""The error of a server that plays as many sessions as it can."""


class Observation(msgspec.Struct, frozen=True):
    """What a reset or a step came to."""

    observation: dict[str, Any]
    reward: bool | float | None = None
    done: bool = False
    metadata: dict[str, Any] = {}


class ObservationAnswer(msgspec.Struct, frozen=True, tag="observation", tag_field="type"):
    """Answers `reset` and `step`."""

    data: Observation


class StateAnswer(msgspec.Struct, frozen=True, tag="state", tag_field="type"):
    """Answers `state`."""

    data: dict[str, Any]


class Refusal(msgspec.Struct, frozen=True):
    """Why nothing came of a message; errors: of single fields."""

    message: str = ""
    code: str = ""
    errors: Any = None

    def __str__(self) -> str:
        """Return it in one line."""
        more = f": {self.errors}" if self.errors else ""
        return f"{self.code}: {self.message}{more}"


class ErrorAnswer(msgspec.Struct, frozen=True, tag="error", tag_field="type"):
    """Answers anything."""

    data: Refusal


Answer = ObservationAnswer | StateAnswer | ErrorAnswer
_decoder: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def write_message(kind: str, data: Mapping[str, object] | None = None) -> bytes:
    """Return a message of a client."""
    return msgspec.json.encode({"type": kind} if data is None else {"type": kind, "data": data})


def read_answer(text: bytes | str) -> Answer:
    """Return the answer of a server. Raises MessageError naming what does not fit."""
    try:
        return _decoder.decode(text)
    # Digits and brackets without end are errors of Python's own.
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MessageError(f"no answer of OpenEnv: {error}"[:300]) from error
