"""Battles of Pokemon Showdown while play nodes and the simulators of their players are killed."""

from collections.abc import Mapping
from contextlib import suppress
from random import SystemRandom

import psutil

GAME = "showdown_gen1random"
AGENTS = ("random", "max_damage", "showdown_heuristics")
# The name of the process that plays the battles of a player.
SIMULATOR = "node"
NODES = ("node-1", "node-2")
KILLED = (NODES[0], SIMULATOR, NODES[1], SIMULATOR)
_dice = SystemRandom()


def find_simulator(pids: Mapping[str, int]) -> int | None:
    """Return a process that plays battles for a player of these programs; None without any."""
    simulators = []
    for name in NODES:
        # A program or a player may end meanwhile.
        with suppress(KeyError, psutil.Error):
            children = psutil.Process(pids[name]).children(recursive=True)
            simulators += [child.pid for child in children if child.name() == SIMULATOR]
    return _dice.choice(simulators) if simulators else None
