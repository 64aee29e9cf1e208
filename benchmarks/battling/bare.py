"""The package alone on all cores: the limit of everything that plays its battles."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from arena.games.showdown.installed import find_folder, find_node

PROGRAM = Path(__file__).with_name("bare.js")


class Bare(NamedTuple):
    """What all processes together played in a second, and choices a battle."""

    battles_per_s: float
    choices_per_battle: float


def play_bare(battle_format: str, n: int) -> Bare:
    """Play n battles, an equal part in a process for each core; their start does not count."""
    cores = os.cpu_count() or 1
    share = -(-n // cores)
    command = [find_node() or "node", str(PROGRAM), str(find_folder()), battle_format]
    programs = [
        subprocess.Popen([*command, str(core * share), str(share)], stdout=subprocess.PIPE)
        for core in range(cores)
    ]
    played: list[dict[str, Any]] = []
    for program in programs:
        out, _ = program.communicate()
        if program.returncode:
            raise RuntimeError(f"{PROGRAM.name} exited with {program.returncode}")
        played.append(json.loads(out))
    return Bare(
        # Side by side, from data that is read to the end: the parts are about equally long.
        sum(player["battles"] for player in played) / max(player["seconds"] for player in played),
        sum(player["choices"] for player in played) / sum(player["battles"] for player in played),
    )
