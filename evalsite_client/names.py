"""What several nouns share."""

from dataclasses import dataclass

from evalsite_client.transport import Transport


@dataclass(frozen=True)
class AgentName:
    """An agent by id and name."""

    id: int
    name: str


class Noun:
    """The calls of one noun."""

    def __init__(self, transport: Transport) -> None:
        """transport: sends the calls."""
        self._transport = transport
