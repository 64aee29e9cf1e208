"""Pokemon Showdown, generation 1 OU, with one of our sets for each seat."""

from pathlib import Path

from arena.games.showdown.game import make_game

GAME = make_game(
    "showdown_gen1ou",
    "Pokemon gen 1 OU",
    "gen1ou",
    teams=Path(__file__).parents[1] / "showdown" / "teams" / "gen1ou",
    teams_hash="3013675d2528b78b576cf73ee377315a3128f37a94c1cc04e9b534929814754e",
)
