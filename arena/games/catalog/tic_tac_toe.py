"""Tic-tac-toe: three in a row on 3 x 3."""

from arena.games.openspiel import OpenSpielGame

GAME = OpenSpielGame("tic_tac_toe", title="Tic-tac-toe", opening_plies=2)
