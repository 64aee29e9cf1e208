"""Leduc poker: six cards, two rounds of betting, one public card."""

from arena.games.openspiel import OpenSpielGame

GAME = OpenSpielGame("leduc_poker", title="Leduc poker", opening_plies=0)
