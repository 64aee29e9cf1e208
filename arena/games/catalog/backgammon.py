"""Backgammon: a game of dice; one action moves both dice; a draw after 500 turns."""

from arena.games.openspiel import OpenSpielGame

GAME = OpenSpielGame("backgammon", title="Backgammon", opening_plies=0)
