"""A format of Pokemon Showdown as a game: what a catalog file of two lines needs."""

from pathlib import Path
from typing import Final

from arena.games.base import CHILD, GameSpec
from arena.games.served import ServedGame
from arena.games.showdown.installed import CAPABILITY, PACKAGE, find_node, name_package
from arena.games.showdown.layout import N_ACTIONS, PARTS, SIZE
from arena.games.showdown.rules import Rules

DRIVER: Final = Path(__file__).with_name("driver.js")
DRIVER_VERSION: Final = 1
"""Counted up when the driver shows, offers or draws something else than before."""
RULES_VERSION: Final = DRIVER_VERSION * 10**6 + PACKAGE[0] * 10**4 + PACKAGE[1] * 10**2 + PACKAGE[2]
"""1001111: version 1 of the driver over version 0.11.11 of the package."""
MAX_STEPS: Final = 2_100
"""Two choices for each of the 1,000 turns that a battle may have, and some for who has fainted."""


def make_game(
    id: str, title: str, battle_format: str, *, teams: Path | None = None, teams_hash: str = ""
) -> ServedGame:
    """Return a game of two seats; teams: a folder of texts, none where the format makes its own.

    teams_hash: what `./run showdown teams` says of them, so that a folder that was changed is told
    from the one that matches were played with.
    """
    spec = GameSpec(
        id=id,
        title=title,
        n_seats=2,
        n_actions=N_ACTIONS,
        observation_shape=(SIZE,),
        observation_dtype="float32",
        observation_parts=PARTS,
        observation_note=(
            "What the player may know; moves by slot, Pokemon by place in the team, theirs in the "
            "order in which they were seen. arena/games/showdown/layout.json names each number."
        ),
        has_chance=True,
        has_hidden_information=True,
        opening_plies=0,
        max_steps=MAX_STEPS,
        rules_version=RULES_VERSION,
        is_zero_sum=True,
        capability=CAPABILITY,
        served=CHILD,
    )
    team_arguments = (str(teams), teams_hash) if teams else ()
    node = find_node() or "node"
    versions = (str(RULES_VERSION), name_package())
    command = (node, str(DRIVER), id, battle_format, *versions, *team_arguments)
    return ServedGame(spec, command=command, rules=Rules(spec, command))
