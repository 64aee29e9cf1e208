"""Passes to ask an agent: what its network is and how it chooses, signed so that it stays so.

The web server makes them, so that the evaluation head needs no database to answer for an agent.
"""

from base64 import b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from typing import Annotated

import msgspec

from arena.messages import AgentOrder, BigId, Count, Text
from arena.passes import PassError, check_pass, make_pass

_SUBJECT = "agent:"


class AskedAgent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An agent with a network, and the form of what it sees and answers in its game."""

    agent: BigId
    name: Text
    game: Text
    observation_shape: Annotated[list[Count], msgspec.Meta(max_length=8)]
    n_actions: Annotated[int, msgspec.Meta(ge=1, le=10**6)]
    plays: AgentOrder


def make_agent_pass(key: str, agent: AskedAgent, *, until: int) -> str:
    """Return a pass for the decisions of an agent that ends at `until`."""
    packed = urlsafe_b64encode(msgspec.json.encode(agent)).decode().rstrip("=")
    return make_pass(key, f"{_SUBJECT}{packed}", until=until)


def read_agent_pass(key: str, text: str, *, now: float) -> AskedAgent:
    """Return whom a pass lets its holder ask. Raises PassError for one that is none, or has ended.

    now: seconds since 1970.
    """
    subject = text.rsplit(".", 2)[0]
    if not subject.startswith(_SUBJECT):
        raise PassError("no pass for an agent: the web server makes it, for one agent")
    # Before a byte of it is read: only what was signed here is looked at.
    check_pass(key, text, subject, now=now)
    packed = subject.removeprefix(_SUBJECT)
    try:
        return msgspec.json.decode(_decode_base64(packed), type=AskedAgent)
    except (Base64Error, msgspec.MsgspecError) as error:
        raise PassError(f"a pass of another version of evalsite: {error!s:.200}") from error


def _decode_base64(packed: str) -> bytes:
    return b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_")
