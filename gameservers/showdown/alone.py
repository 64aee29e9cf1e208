"""poke-env by itself: how many battles a second two of its random players end on a server.

`python -m gameservers.showdown.alone URL N_BATTLES CONCURRENCY`, in the virtual environment of
poke-env; benchmarks/showdown_server.py starts it and reads the JSON that it prints.
"""

import asyncio
import json
import resource
import sys
import time
from typing import Final

from poke_env.player import RandomPlayer
from poke_env.ps_client import AccountConfiguration, ServerConfiguration

from gameservers.showdown.settings import LOGIN_URL, make_user_name

N_WARM: Final = 4
"""Battles before the clock starts: the server and poke-env read their data in the first one."""


class CountingPlayer(RandomPlayer):
    """Counts what it has decided."""

    n_decisions = 0

    def choose_move(self, battle: object) -> object:
        self.n_decisions += 1
        return super().choose_move(battle)


async def play(url: str, n_battles: int, concurrency: int, battle_format: str) -> dict[str, float]:
    """Return what was measured of battles between two players, so many at once."""
    user = make_user_name()
    players = [
        CountingPlayer(
            AccountConfiguration(f"{user}{letter}", None),
            battle_format=battle_format,
            max_concurrent_battles=concurrency,
            server_configuration=ServerConfiguration(url, LOGIN_URL),
            log_level=40,
            loop=asyncio.get_running_loop(),
        )
        for letter in "ab"
    ]
    first, second = players
    async with asyncio.timeout(60):
        await first.battle_against(second, n_battles=N_WARM)
    for player in players:
        player.n_decisions = 0
    began, cpu_s = time.perf_counter(), measure_cpu_s()
    await first.battle_against(second, n_battles=n_battles)
    seconds = time.perf_counter() - began
    return {
        "n_battles": n_battles,
        "concurrency": concurrency,
        "seconds": round(seconds, 3),
        "battles_per_s": round(n_battles / seconds, 3),
        "decisions_per_battle": round(sum(player.n_decisions for player in players) / n_battles, 1),
        "poke_env_cpu_s": round(measure_cpu_s() - cpu_s, 3),
    }


def measure_cpu_s() -> float:
    """Return the seconds of CPU that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    address, battles, at_once, wanted_format = sys.argv[1:]
    measured = asyncio.run(play(address, int(battles), int(at_once), wanted_format))
    sys.stdout.write(json.dumps(measured) + "\n")
