"""Tiny bridge: eight cards, two partnerships (seats 0 and 2 against 1 and 3), the bidding only."""

from arena.games.openspiel import OpenSpielGame

GAME = OpenSpielGame(
    "tiny_bridge",
    engine_name="tiny_bridge_4p",
    title="Tiny bridge, two against two",
    opening_plies=0,
    teams=(0, 1, 0, 1),
)
