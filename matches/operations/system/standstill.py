"""Why nothing can play at all: the one sentence that must not be overlooked."""

from collections.abc import Sequence

from matches.models import Tournament
from matches.operations.system.sample import Node, UnderWay
from matches.store.formats import format_count
from matches.store.start_hints import PLAY_HINT

MAX_NAMED = 3
PAUSED = Tournament.State.PAUSED.value


def describe_standstill(
    nodes: Sequence[Node], tournaments: Sequence[UnderWay], shortage: str
) -> str:
    """Return why no match can be played now, and what to do; empty where some can be."""
    if shortage:
        return f"Nothing is sent: {shortage}. Make room: it then goes on by itself."
    play = [node for node in nodes if node.kind == "play"]
    if any(node.is_free for node in play):
        return ""
    # A paused one waits for no node.
    n_waiting = sum(
        1 for tournament in tournaments if tournament.waits_for and tournament.state != PAUSED
    )
    waiting = ""
    if n_waiting:
        verb = "waits" if n_waiting == 1 else "wait"
        waiting = f" {format_count(n_waiting, 'tournament')} {verb}."
    return f"Nothing can play: {_describe_nodes(play)}.{waiting}"


def _describe_nodes(play: Sequence[Node]) -> str:
    quarantined = [node for node in play if node.is_alive]
    if quarantined:
        nodes_text = ", ".join(
            f"{node.name} ({node.quarantine})" for node in quarantined[:MAX_NAMED]
        )
        more = f" and {len(quarantined) - MAX_NAMED:,} more" if len(quarantined) > MAX_NAMED else ""
        verb, them = ("is", "it") if len(quarantined) == 1 else ("are", "them")
        only = (
            f"the only play node alive, {nodes_text},"
            if len(quarantined) == 1
            else f"{nodes_text}{more}"
        )
        # Of the same number the same names would come back, still in quarantine.
        restart = f"./run stop, then ./run up --nodes {len(quarantined) + 1}"
        return f"{only} {verb} in quarantine. Release {them}, or start another: {restart}"
    lost = ", ".join(node.name for node in play[:MAX_NAMED])
    since = f" (lost within the last hour: {lost})" if lost else ""
    return f"no play node is alive{since}; {PLAY_HINT}"
