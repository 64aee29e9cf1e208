"""System of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from dataclasses import dataclass

from evalsite_client.calls import Calls


@dataclass(frozen=True)
class System:
    """Nodes and work, as control saw them within the last seconds.

    n_play: Play nodes that are alive.
    n_gpu: Gpu workers that are alive.
    n_slots: Matches that can be played at once.
    n_lost: Nodes lost within the last hour.
    desired_nodes: Play nodes that would play what waits within EVALSITE_BACKLOG_S seconds,
        EVALSITE_MAX_NODES at most; 0 when nothing is planned.
    backlog_s: Slot-seconds of what is planned and has not ended.
    """

    n_play: int
    n_gpu: int
    n_slots: int
    n_lost: int
    desired_nodes: int
    backlog_s: float


class Systems(Calls):
    """Return how many nodes there are, and how many would play what waits in time."""

    def get(self) -> System:
        """Return one system."""
        return self._get(System, "system")
