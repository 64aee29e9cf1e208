"""An address that answers decisions by messages over HTTP: docs/agents.md."""

from arena.policies.message_policy import MessageKind


class HttpAgentKind(MessageKind):
    """Plays every game with an address that the play nodes list."""

    id = "http_agent"
    title = "HTTP agent"
    version = 1
    is_remote = True


POLICY = HttpAgentKind()
