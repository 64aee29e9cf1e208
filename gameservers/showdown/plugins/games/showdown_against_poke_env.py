"""A battle against a player of poke-env on a server of Pokemon Showdown: 1 won, 0 lost."""

from arena.games.showdown.served import make_server_game

GAME = make_server_game(
    "showdown_against_poke_env", "Pokemon gen 1, random teams, against poke-env", n_seats=1
)
