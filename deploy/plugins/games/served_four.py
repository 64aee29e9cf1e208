"""Connect Four, played by game servers: the game of the reference server of docker-compose.yml."""

from arena.games.catalog.connect_four import GAME as RULES
from arena.games.served import serve_rules

GAME = serve_rules(RULES, id="served_four", title="Connect Four, served")
