"""Pokemon Showdown, generation 1, on a server of it, to which `./run showdown serve` has a line."""

from arena.games.showdown.served import make_server_game

GAME = make_server_game(
    "showdown_server_gen1random", "Pokemon gen 1, random teams, on a Showdown server", n_seats=2
)
