"""A game server that lies: `python -m tests.lying_server GAME LIE` serves Connect Four so.

Whoever looks at it hears the truth: it lies to players.
"""

import json
import sys
from collections.abc import Callable

from arena.games.catalog import connect_four
from gameservers import sdk
from gameservers.reference import offer_game

LARGE = 10 << 20
Lie = Callable[[list[sdk.Message]], list[sdk.Message]]


def change(kind: str, **fields: object) -> Lie:
    """Return a lie that says something else in each message of a kind that has the field."""
    return lambda messages: [
        {**one, **{name: value for name, value in fields.items() if name in one}}
        if one["kind"] == kind
        else one
        for one in messages
    ]


def flip(messages: list[sdk.Message]) -> list[sdk.Message]:
    """Turn round who has won."""
    return [
        {**one, "returns": [-value for value in one["returns"]]} if "returns" in one else one
        for one in messages
    ]


LIES: dict[str, Lie] = {
    "illegal": change("state", legal=[99]),
    "spec": change("hello", n_actions=9),
    "large": change("state", step="x" * LARGE),
    "silent": lambda messages: [one for one in messages if one["kind"] == "hello"],
    "flip": flip,
}


class LyingLine(sdk.Line):
    """Says to players what the lie makes of the truth."""

    lie: Lie

    def receive(self, text: str | bytes) -> list[sdk.Frame]:
        frames = super().receive(text)
        if not self.is_greeted:
            return frames
        lies = [(self.lie(json.loads(frame_text)), raw) for frame_text, raw in frames]
        return [(json.dumps(messages), raw) for messages, raw in lies if messages]


def main(game: str, lie: str) -> None:
    """Serve until SIGTERM."""
    LyingLine.lie = staticmethod(LIES[lie])
    sdk.Line = LyingLine  # type: ignore[misc]
    sdk.serve(offer_game(game, connect_four.GAME), name=game, listen="127.0.0.1:0")


if __name__ == "__main__":
    main(*sys.argv[1:])
