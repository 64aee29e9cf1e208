"""Pokemon Showdown, generation 1, with teams that the package draws for each battle."""

from arena.games.showdown.game import make_game

GAME = make_game("showdown_gen1random", "Pokemon gen 1, random teams", "gen1randombattle")
