"""The sign and the colour of each seat: one in the drawing, the list of moves and the plots."""

import re
from typing import Final, NamedTuple

from django.utils.safestring import SafeString

from arena.games.pictures import SEAT_TINTS, Side
from matches.models import Match
from pages import drawings
from pages.replays import Replay

LINE_TINTS: Final = frozenset(("black", "white", "red", "blue", "yellow", "green", "ink"))
"""Tints that a line can be told by."""


class SeatSign(NamedTuple):
    """Who sat at a seat, what it played, and by which piece and colour it is known.

    plays: what the game calls its pieces, empty where all seats have the same.
    """

    seat: int
    agent: str
    plays: str
    tint: str
    icon: SafeString
    is_alone: bool

    @property
    def name(self) -> str:
        """Return the agent with what tells its seat from the others."""
        if self.is_alone:
            return self.agent
        piece = re.split(r",| \(", self.plays)[0]
        return f"{self.agent} ({piece or f'seat {self.seat}'})"


def list_signs(match: Match, replay: Replay) -> list[SeatSign]:
    """Return the sign of each seat, in the order of the seats."""
    agents = {row.seat: str(row.agent) for row in match.seat_rows.all()}
    own_tints = [SEAT_TINTS[seat % len(SEAT_TINTS)] for seat in range(len(agents))]
    sides = replay.sides
    if len(sides) != len(agents):
        sides = tuple(Side("", tint) for tint in own_tints)
    tints = [side.tint for side in sides]
    can_be_told = len(LINE_TINTS.intersection(tints)) == len(sides)
    return [
        SeatSign(
            seat,
            agents[seat],
            side.name,
            side.tint if can_be_told else own_tints[seat],
            drawings.draw_icon(side),
            is_alone=len(agents) == 1,
        )
        for seat, side in enumerate(sides)
    ]
