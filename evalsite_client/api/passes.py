"""Passes of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from typing import Literal

from evalsite_client.api.shared import Pass
from evalsite_client.calls import Calls

Purpose = Literal["serve", "discover", "evaluate"]


class Passes(Calls):
    """Make a pass for what is done through the head."""

    def create(
        self, *, purpose: Purpose, name: str = "", days: int = 7, key: str | None = None
    ) -> Pass:
        """Make a pass for what is done through the head.

        purpose: serve: to dial in as a game server, by this name or without one by any;
            discover: to have the head look for servers; evaluate: to ask checkpoints of its
            CHECKPOINT_BUCKET.
        name: Of the game server, for serve.
        """
        return self._post(Pass, "passes", {"purpose": purpose, "name": name, "days": days}, key=key)
