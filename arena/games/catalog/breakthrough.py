"""Breakthrough: the first pawn on the last of 8 x 8 ranks wins."""

from arena.games.openspiel import OpenSpielGame

GAME = OpenSpielGame("breakthrough", title="Breakthrough", opening_plies=4)
