"""Hex: the first chain between one's own two sides wins; no draws."""

from arena.games.openspiel import OpenSpielGame
from arena.parameters import Parameter

GAME = OpenSpielGame(
    "hex",
    title="Hex",
    opening_plies=2,
    parameters=(Parameter("board_size", 11, "cells along each side", 3, 19),),
)
