"""Nim, played by ../server.js: a child process of each player, which needs Node.js on its machine.

For game servers that run by themselves instead: served=SERVER and no command.
"""

from arena.games.base import CHILD, GameSpec
from arena.games.served import ServedGame

GAME = ServedGame(
    GameSpec(
        id="nim_js",
        title="Nim in JavaScript",
        n_seats=2,
        n_actions=3,
        observation_shape=(1,),
        observation_dtype="float32",
        has_chance=False,
        has_hidden_information=False,
        opening_plies=2,
        max_steps=15,
        is_zero_sum=True,
        served=CHILD,
    ),
    command=("node", "../server.js"),
)
