"""Kuhn poker for three: four cards, one round of betting."""

from arena.games.catalog.kuhn_poker import LOOK
from arena.games.openspiel import OpenSpielGame

GAME = OpenSpielGame(
    "kuhn_poker_3",
    engine_name="kuhn_poker",
    fixed={"players": 3},
    title="Kuhn poker for three",
    opening_plies=0,
    look=LOOK,
)
