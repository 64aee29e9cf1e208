"""Nodes of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsite_client.calls import Calls


@dataclass(frozen=True)
class JoinedNode:
    """What it needs; the environment holds its secrets, and is told this once.

    plugins: Each file in base64 by its path, which begins with the number of its folder.
    """

    environment: Mapping[str, Any]
    plugins: Mapping[str, Any]


@dataclass(frozen=True)
class JoinToken:
    """A token that lets one machine in, once; it is shown this once.

    token: For `./run node --join URL --token ...`. Empty when the call is repeated under its
        idempotency key.
    """

    token: str | None
    expires_at: datetime


@dataclass(frozen=True)
class NodeState:
    """How a node is seen by the server.

    seen_at: When it was heard of last, in whichever of its lives.
    """

    is_admitted: bool
    seen_at: datetime | None


class Nodes(Calls):
    """Admit the node that a token is for, and tell it all that it needs."""

    def join(self, *, token: str) -> JoinedNode:
        """Admit the node that a token is for, and tell it all that it needs.

        token: Of `POST /nodes/invite/`.
        """
        return self._post(JoinedNode, "nodes", {"token": token}, key=None)

    def invite(self, *, name: str, minutes: int = 60, key: str | None = None) -> JoinToken:
        """Make a token by which one machine joins, once, as the node of this name.

        name: Of the node, which is none yet.
        """
        return self._post(JoinToken, "nodes/invite", {"name": name, "minutes": minutes}, key=key)

    def leave(self, *, name: str, node_key: str) -> NodeState:
        """Shut out the node that shows its key.

        node_key: Its EVALSITE_NODE_KEY.
        """
        return self._post(NodeState, "nodes/leave", {"name": name, "node_key": node_key}, key=None)

    def look(self, *, name: str, node_key: str) -> NodeState:
        """Tell the node that shows its key how the server sees it.

        node_key: Its EVALSITE_NODE_KEY.
        """
        return self._post(NodeState, "nodes/look", {"name": name, "node_key": node_key}, key=None)
