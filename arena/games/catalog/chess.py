"""Chess with draws by repetition and by the rule of 50 moves."""

from arena.games.openspiel import OpenSpielGame

# The engine's bound stays (17,695 plies, what the rule of 50 moves allows): a lower one would let
# a losing seat drag a legal match into a fault of the platform.
GAME = OpenSpielGame("chess", title="Chess", opening_plies=4)
