"""A storm over game servers and the head: they are killed while players play what they serve.

Two servers listen and one dials the head. One of each kind is killed, in turn, and started again;
the head is killed in the middle, and the supervisor starts it again.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep, time
from typing import NamedTuple

import psutil

from benchmarks.served.servers import ReferenceServer, write_catalog
from benchmarks.storm import long_matches, oracle
from benchmarks.storm.run import Game, Played, await_end
from launcher.programs import PYTHON
from launcher.stack import Stack, start_stack

LISTENING, DIALLING = ("sim-1", "sim-2"), "sim-3"
HEAD = "head"
KILLED = (LISTENING[0], DIALLING)
# Of the matches: at which share who is killed.
KILLS = ((0.15, KILLED[0]), (0.3, KILLED[1]), (0.5, HEAD), (0.65, KILLED[0]), (0.8, KILLED[1]))
# So long a killed server is away.
AWAY_S = 1.0
MOVE_S = 0.004
LIMIT_S = 180.0
LAST = """
SELECT ended_at, duration_ms FROM matches_attempt
WHERE server = ? AND ending = 'done' ORDER BY id DESC LIMIT 1
"""
BY_SERVER = """
SELECT server, ending, COUNT(*) FROM matches_attempt WHERE server != '' GROUP BY server, ending
"""


class Kill(NamedTuple):
    """Who was killed, and when (seconds since 1970)."""

    name: str
    at: float


@dataclass
class ServerStorm:
    """Kills by outcomes, so that all of it falls into the run on any machine."""

    servers: Mapping[str, ReferenceServer]
    stack: Stack
    url: str
    n_matches: int
    done: Counter[str] = field(default_factory=Counter)
    recoveries_s: list[float] = field(default_factory=list)
    _away: list[Kill] = field(default_factory=list)
    _down: dict[str, float] = field(default_factory=dict)

    def do_what_is_due(self, now: float, progress: oracle.Progress) -> None:
        """Kill who is due; start again who was away long enough; see who plays again."""
        del now
        for name, at in list(self._down.items()):
            if time() > at + AWAY_S:
                del self._down[name]
                self.servers[name].start()
        for kill in list(self._away):
            # The head is back when a server plays that is reached through it alone.
            name = DIALLING if kill.name == HEAD else kill.name
            if (began_at := read_last_start(self.url, name)) > kill.at:
                self.recoveries_s.append(time() - kill.at)
                self._away.remove(kill)
                print(f"{kill.name} plays again, begun {began_at - kill.at:.1f} s after its kill")
        n_done = self.done.total()
        if n_done < len(KILLS) and progress.n_outcomes >= KILLS[n_done][0] * self.n_matches:
            self._kill(KILLS[n_done][1])

    def resume_until(self, now: float) -> None:
        """Start again who is away at the end."""
        del now
        for name in self._down:
            self.servers[name].start()
        self._down.clear()

    def count_acts(self, ending: str) -> int:
        return sum(n for act, n in self.done.items() if act.endswith(ending))

    def _kill(self, name: str) -> None:
        if name == HEAD:
            pid = self.stack.pids().get(HEAD)
            if pid is None:
                return  # it is being started
            psutil.Process(pid).kill()
        else:
            self.servers[name].kill()
            self._down[name] = time()
        self._away.append(Kill(name, time()))
        self.done[f"{name} SIGKILL"] += 1


def read_last_start(url: str, server: str) -> float:
    """Return when the newest match of a server began that is done; 0 without one."""
    with oracle.connect(url) as database:
        row = database.execute(LAST, (server,)).fetchone()
    if row is None:
        return 0.0
    ended_at = datetime.fromisoformat(row[0]).replace(tzinfo=UTC)
    return (ended_at - timedelta(milliseconds=row[1])).timestamp()


def read_by_server(url: str) -> dict[str, dict[str, int]]:
    """Return how many attempts of each server ended how."""
    by_server: dict[str, dict[str, int]] = {}
    with oracle.connect(url) as database:
        for server, ending, n in database.execute(BY_SERVER).fetchall():
            by_server.setdefault(server, {})[ending] = n
    return by_server


class ServedPlay(NamedTuple):
    """A run, and how many attempts of each server ended how."""

    played: Played
    by_server: dict[str, dict[str, int]]


def play_served(n_matches: int, *, is_stormy: bool) -> ServedPlay:
    """Play a tournament of the served game in a fresh stack with a head and three servers."""
    with ExitStack() as around:
        folder = Path(around.enter_context(TemporaryDirectory(prefix="evalsite-storm-")))
        plugins = write_catalog(folder)
        long_matches.write_policy(folder, MOVE_S)

        def start(name: str, *options: str) -> ReferenceServer:
            server = ReferenceServer(name, plugins=plugins, options=options)
            return around.enter_context(server)

        servers = {name: start(name) for name in LISTENING}
        addresses = ",".join(server.address for server in servers.values())
        settings = {"EVALSITE_PLUGINS": str(plugins), "EVALSITE_GAME_SERVERS": addresses}
        stack = around.enter_context(
            start_stack(folder / "var", nodes=2, slots=1, gpus=0, head=True, settings=settings)
        )
        head = f"ws://127.0.0.1:{stack.plan.ports.head}"
        servers[DIALLING] = start(DIALLING, "--eval-head-url", head)
        url = str(folder / "var" / "db.sqlite3")
        await_servers(url, set(servers))
        game = Game(0, 0.0, n_served=n_matches)
        scheduler = subprocess.Popen(
            [PYTHON, "-m", "benchmarks.storm.run", json.dumps(game)],
            env={**stack.env, "DJANGO_SETTINGS_MODULE": "evalsite.settings"},
        )
        around.callback(scheduler.wait)
        storm = ServerStorm(servers, stack, url, n_matches) if is_stormy else None
        seconds = await_end(url, game, storm, scheduler)
        stack.stop()
        played = Played(oracle.read_record(url), seconds, storm)
        return ServedPlay(played, read_by_server(url))


def await_servers(url: str, names: set[str]) -> None:
    """Wait until the head has reported all servers. Raises TimeoutError."""
    until = time() + LIMIT_S
    while missing := names - oracle.read_progress(url).incarnations.keys():
        if time() > until:
            raise TimeoutError(f"the head has not reported {sorted(missing)} in {LIMIT_S:g} s")
        sleep(0.1)
