"""What monitors show of a message."""

from arena.messages import (
    Alive,
    CheckOrder,
    Mark,
    MatchOrder,
    Report,
    Results,
    Started,
)


def describe_message(message: Report | MatchOrder | CheckOrder) -> str:
    """Return what monitors may show of a message: everybody reads them, so never a token."""
    match message:
        case MatchOrder():
            text = f"order {message.order}, {len(message.matches)} matches of {message.game}"
        case CheckOrder():
            text = f"checkpoint {message.checkpoint} of {message.game}"
        case Alive():
            text = f"{message.node} is alive, {len(message.orders)} orders in hand"
        case Started():
            text = f"{message.node} has started order {message.order}"
        case Results():
            last = ", the last" if message.is_last else ""
            text = f"{len(message.results)} results of order {message.order}{last}"
        case Mark():
            text = f"mark of {message.at}"
        case _:
            verdict = "refused" if message.refusal else "ready"
            text = f"checkpoint {message.checkpoint} is {verdict}"
    return f"({text})"
