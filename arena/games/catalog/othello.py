"""Othello (Reversi) on 8 x 8; a seat that cannot move passes by an action."""

from arena.games.openspiel import OpenSpielGame

GAME = OpenSpielGame("othello", title="Othello", opening_plies=4)
