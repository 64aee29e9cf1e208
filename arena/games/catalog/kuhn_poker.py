"""Kuhn poker: three cards, one round of betting."""

from arena.games.openspiel import OpenSpielGame

GAME = OpenSpielGame("kuhn_poker", title="Kuhn poker", opening_plies=0)
