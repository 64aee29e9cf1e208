"""Go on 9 x 9 under Tromp-Taylor rules, komi 7.5; it ends after 162 plies at the latest."""

from arena.games.openspiel import OpenSpielGame

GAME = OpenSpielGame(
    "go_9x9", engine_name="go", fixed={"board_size": 9}, title="Go 9 x 9", opening_plies=4
)
