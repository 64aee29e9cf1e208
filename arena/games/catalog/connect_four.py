"""Connect Four: four in a row on 7 columns of 6."""

from arena.games.openspiel import OpenSpielGame

GAME = OpenSpielGame("connect_four", title="Connect Four", opening_plies=4)
