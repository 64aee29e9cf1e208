"""What the numbers of an observation are: layout.json, which the driver writes them by."""

import json
from pathlib import Path
from typing import Final

from arena.games.observations import parts

_DECLARED: Final = json.loads(Path(__file__).with_name("layout.json").read_text())
BLOCKS: Final[dict[str, int]] = dict(_DECLARED["blocks"])
"""How many rows a block has, in the order of the observation."""
N_MOVES: Final = BLOCKS["own_move"]
N_POKEMON: Final = BLOCKS["own_pokemon"]
N_ACTIONS: Final = N_MOVES + N_POKEMON
"""Moves by their slot, then switches by their place in the team."""


def names_of(block: str) -> tuple[str, ...]:
    """Return what the numbers of a row of a block are called, in order."""
    kind = block if block in _DECLARED else block.partition("_")[2]
    return tuple(_DECLARED[kind])


def start_of(block: str) -> int:
    """Return where a block begins in an observation."""
    before = list(BLOCKS)[: list(BLOCKS).index(block)]
    return sum(BLOCKS[name] * len(names_of(name)) for name in before)


SIZE: Final = sum(rows * len(names_of(block)) for block, rows in BLOCKS.items())
PARTS: Final = parts(
    *((block.replace("_", " "), rows * len(names_of(block))) for block, rows in BLOCKS.items())
)
"""What games declare of it, and policies know it by."""


def columns(block: str, name: str) -> slice:
    """Return where one number of each row of a block stands in an observation."""
    width, first = len(names_of(block)), start_of(block)
    at = first + names_of(block).index(name)
    return slice(at, first + BLOCKS[block] * width, width)
