"""A private stack plays while its programs are killed and stopped, or is left in peace.

What it plays: a board of the skill game, whose matches last some time, and one of networks, so that
all programs have work.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, NamedTuple, Protocol

import django
import psutil

from benchmarks.served.servers import GAME as SERVED
from benchmarks.storm import long_matches, oracle, simulators, spot
from benchmarks.storm.servers import OutsideServer, run_outside_servers, run_postgres
from launcher.programs import PYTHON
from launcher.stack import Stack, start_stack

LIMIT_S = 1_800.0
POLL_S = 0.1
# How often a file or a pipe gets a line of progress: a run lasts for minutes.
LINE_EVERY_S = 10.0
SHORTEST_STOP_S, LONGEST_STOP_S = 5.0, 40.0
KINDS = ("SIGKILL", "SIGSTOP")
NOTICE = "notice"
# Agents of chess wait rather than compute; how often their moves are reported, in seconds.
CHESS_SLOTS, CHESS_ACTIONS_S = 4, "1"
# Of 2, each would live no longer than it takes to start.
CHESS_NODES = 4


class Act(NamedTuple):
    program: str
    kind: str
    stop_s: float


class Game(NamedTuple):
    """What is played: of the skill game, of connect four between agents, of chess, of one seat."""

    n_levels: int
    match_s: float
    n_networked: int = 0
    n_networks: int = 0
    width: int = 512
    depth: int = 2
    searches: Sequence[str] = ()
    # Their agents count what they decide.
    n_chess: int = 0
    move_s: float = 0.0
    n_walks: int = 0
    # On spot nodes: their agents take their time.
    n_unhurried: int = 0
    # Of connect four, served by game servers.
    n_served: int = 0
    # Of Pokemon Showdown, in a child process of each player.
    n_battles: int = 0

    @property
    def n_matches(self) -> int:
        played = (self.n_levels, self.n_networked, self.n_chess, self.n_walks, self.n_unhurried)
        return sum((*played, self.n_served, self.n_battles))


class Weather(NamedTuple):
    """What happens to a stack: acts in turn, and after how many outcomes the broker is killed.

    programs: who is killed in turn; none: every program is killed and stopped, drawn by the seed.
    notice_s: they are drawn by the seed, told by SIGTERM and killed so many seconds later.
    """

    every_s: float
    seed: int = 0
    programs: Sequence[str] = ()
    broker_at: Sequence[int] = ()
    notice_s: float = 0.0


def draw_notices(programs: Sequence[str], rng: Random, notice_s: float) -> Iterator[Act]:
    """Yield notices without end, in rounds: each round takes every program once."""
    while True:
        yield from (Act(name, NOTICE, notice_s) for name in rng.sample(programs, len(programs)))


def draw_acts(programs: Sequence[str], rng: Random) -> Iterator[Act]:
    """Yield acts without end, in rounds: each round kills and stops every program once."""
    while True:
        acts = [(program, kind) for program in programs for kind in KINDS]
        rng.shuffle(acts)
        for program, kind in acts:
            yield Act(program, kind, rng.uniform(SHORTEST_STOP_S, LONGEST_STOP_S))


def repeat_kills(programs: Sequence[str]) -> Iterator[Act]:
    while True:
        yield from (Act(program, "SIGKILL", 0.0) for program in programs)


@dataclass
class Storm:
    """Does the next act every so often; lets what is stopped go on when its time is up."""

    acts: Iterator[Act]
    find_pid: Callable[[str], int | None]
    every_s: float
    broker_at: Sequence[int] = ()
    # How often each program was killed or stopped, as "name SIGKILL".
    done: Counter[str] = field(default_factory=Counter)
    recoveries_s: list[float] = field(default_factory=list)
    _next_at: float = 0.0
    _stopped: list[tuple[float, psutil.Process]] = field(default_factory=list)
    # When the notice of a machine is over, and all that runs on it.
    _noticed: list[tuple[float, str, list[psutil.Process]]] = field(default_factory=list)
    # Since when a program is away, and what it had reported until then.
    _away: dict[str, tuple[float, object]] = field(default_factory=dict)

    def do_what_is_due(self, now: float, progress: oracle.Progress) -> None:
        """Do the next act, if it is time for it (seconds of any clock)."""
        self.resume_until(now)
        self._kill_noticed(now)
        # A node is back when its next run reports, the broker when something is recorded again.
        reports = {**progress.incarnations, "broker": progress.n_outcomes}
        for program, (killed_at, before) in list(self._away.items()):
            if reports.get(program) != before:
                self.recoveries_s.append(now - killed_at)
                del self._away[program]
        # By outcomes, not by time: so that all of them fall into the run on any machine.
        if self.broker_at and progress.n_outcomes >= self.broker_at[0]:
            self.broker_at = self.broker_at[self._do(Act("broker", "SIGKILL", 0.0), now, reports) :]
        if now >= self._next_at:
            self._next_at = now + self.every_s
            self._do(next(self.acts), now, reports)

    def _do(self, act: Act, now: float, reports: Mapping[str, object]) -> bool:
        pid = self.find_pid(act.program)
        if pid is None:
            return False  # it is being started again
        # psutil knows a process from a later one of the same number.
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if act.kind == NOTICE:
                on_it = [process, *process.children(recursive=True)]
                process.terminate()
                self._noticed.append((now + act.stop_s, act.program, on_it))
                self._away.setdefault(act.program, (now, reports.get(act.program)))
            elif act.kind == "SIGKILL":
                process.kill()
                self._away.setdefault(act.program, (now, reports.get(act.program)))
            else:
                process.suspend()
                self._stopped.append((now + act.stop_s, process))
            self.done[f"{act.program} {act.kind}"] += 1
            return True
        return False

    def _kill_noticed(self, now: float) -> None:
        """Take the machines whose notice is over: what still runs on them is killed."""
        for until, program, on_it in self._noticed:
            if until <= now:
                alive = [process for process in on_it if process.is_running()]
                for process in alive:
                    with suppress(psutil.NoSuchProcess):
                        process.kill()
                self.done[f"{program} SIGKILL"] += bool(alive)
        self._noticed = [noticed for noticed in self._noticed if noticed[0] > now]

    def resume_until(self, now: float) -> None:
        """Let everything go on whose stop is over by now."""
        for until, process in self._stopped:
            if until <= now:
                with suppress(psutil.NoSuchProcess):
                    process.resume()
        self._stopped = [stopped for stopped in self._stopped if stopped[0] > now]

    def count_acts(self, ending: str) -> int:
        return sum(n for act, n in self.done.items() if act.endswith(ending))


class Disturbing(Protocol):
    """Does something to a stack while it plays."""

    done: Counter[str]
    recoveries_s: list[float]

    def do_what_is_due(self, now: float, progress: oracle.Progress) -> None: ...

    def resume_until(self, now: float) -> None: ...

    def count_acts(self, ending: str) -> int: ...


class Played(NamedTuple):
    """What the oracle read after a run, and what had been done to it meanwhile."""

    record: oracle.Record
    seconds: float
    storm: Disturbing | None
    # Of the agents of chess.
    n_decisions: int = 0
    # Of spot nodes: slices of time that agents spent, and what the books say of nodes.
    n_spent: int = 0
    books: Mapping[str, Any] | None = None


def schedule(game: Game) -> None:
    django.setup()
    # Networks need torch, and boards Django: neither is wanted where the storm is made.
    from benchmarks.networks import Size, register_networks  # noqa: PLC0415
    from benchmarks.stacks import LEVELS, open_board, schedule_agents  # noqa: PLC0415

    terms = {"pairing": "random", "replays": True}
    if game.n_networked:
        size = Size("storm", game.width, game.depth)
        networks = register_networks("storm", game.n_networks, size=size)
        board = open_board("storm-networks", "connect_four")
        agents = [*networks, *game.searches]
        schedule_agents(board, agents, game.n_networked, seed=11, **terms)
    if game.n_levels:
        board = open_board(
            "storm-levels", "skill_game", game_parameters={"duration_s": game.match_s}
        )
        schedule_agents(board, LEVELS, game.n_levels, seed=11, **terms)
    if game.n_walks:
        board = open_board("storm-walks", "dice_walk", game_parameters={"duration_s": game.match_s})
        # All agents on the same seeds, one after the other.
        in_turn = {**terms, "pairing": "double_round_robin"}
        schedule_agents(board, LEVELS, game.n_walks, seed=11, **in_turn)
    if game.n_unhurried:
        board = open_board("storm-spot", "skill_game")
        schedule_agents(board, spot.AGENTS, game.n_unhurried, seed=11, **terms)
    if game.n_chess:
        board = open_board("storm-chess", "chess")
        schedule_agents(board, long_matches.AGENTS, game.n_chess, seed=11, **terms)
    if game.n_served:
        board = open_board("storm-served", SERVED)
        schedule_agents(board, long_matches.AGENTS, game.n_served, seed=11, **terms)
    if game.n_battles:
        board = open_board("storm-battles", simulators.GAME)
        schedule_agents(board, simulators.AGENTS, game.n_battles, seed=11, **terms)


def play(game: Game, weather: Weather | None, *, is_postgres: bool, has_all: bool) -> Played:
    """Play all tournaments in a fresh stack; return what the oracle read.

    has_all: with every program, and on PostgreSQL with servers from outside: so that one storm
    meets those of the stack and the other those that somebody else keeps.
    """
    with ExitStack() as around:
        folder = Path(around.enter_context(TemporaryDirectory(prefix="evalsite-storm-")))
        url, settings = str(folder / "var" / "db.sqlite3"), {}
        servers: Mapping[str, OutsideServer] = {}
        if is_postgres:
            url = settings["DATABASE_URL"] = around.enter_context(run_postgres(folder / "postgres"))
            if has_all:
                servers = around.enter_context(run_outside_servers(folder))
                settings["REDIS_URL"] = servers["broker"].url
                settings["FAST_REDIS_URL"] = servers["fast"].url
        slots, nodes = 1, 2
        if game.n_chess:
            slots, nodes = CHESS_SLOTS, CHESS_NODES
            plugins = long_matches.write_policy(folder, game.move_s)
            settings |= {"EVALSITE_PLUGINS": str(plugins), "EVALSITE_ACTIONS_S": CHESS_ACTIONS_S}
        if game.n_unhurried:
            slots, nodes = spot.SLOTS, spot.N_NODES
            # Undisturbed they need not wait: what they choose is the same.
            settings |= spot.make_settings(folder, slice_s=spot.SLICE_S if weather else 0.0)
        gpus = int(has_all or game.n_networked > 0)
        shape = start_stack(
            folder / "var", nodes=nodes, slots=slots, gpus=gpus, web=gpus > 0, flower=has_all,
            settings=settings,
        )  # fmt: skip
        stack = around.enter_context(shape)
        # A process of its own: the settings of Django are those of one stack for good.
        scheduler = subprocess.Popen(
            [PYTHON, "-m", __name__, json.dumps(game)],
            env={**stack.env, "DJANGO_SETTINGS_MODULE": "evalsite.settings"},
        )
        # Not waited for: quick matches are over before torch has left the process.
        around.callback(scheduler.wait)
        storm = make_storm(stack, servers, weather) if weather else None
        seconds = await_end(url, game, storm, scheduler)
        # The database is read when nobody writes to it any more.
        stack.stop()
        return Played(
            oracle.read_record(url),
            seconds,
            storm,
            long_matches.count_decisions(folder),
            spot.count_spent(folder),
            spot.read_books(url) if game.n_unhurried else None,
        )


def make_storm(stack: Stack, servers: Mapping[str, OutsideServer], weather: Weather) -> Storm:
    """Return a storm over the programs of a stack and the servers beside it."""

    def find_pid(program: str) -> int | None:
        if program == simulators.SIMULATOR:
            return simulators.find_simulator(stack.pids())
        return servers[program].pid if program in servers else stack.pids().get(program)

    # Sorted, as the seed must draw the same acts in every run.
    programs = sorted({state.name for state in stack.states()} | set(servers))
    acts = draw_acts(programs, Random(weather.seed))
    if weather.notice_s:
        acts = draw_notices(weather.programs, Random(weather.seed), weather.notice_s)
    elif weather.programs:
        acts = repeat_kills(weather.programs)
    return Storm(acts, find_pid, weather.every_s, weather.broker_at)


def await_end(
    url: str, game: Game, storm: Disturbing | None, scheduler: "subprocess.Popen[bytes]"
) -> float:
    """Wait until all is played and rated, while the storm does what is due; return the seconds."""
    started, told_at = monotonic(), 0.0
    began = started
    try:
        while (now := monotonic()) < started + LIMIT_S:
            progress = oracle.read_progress(url)
            if progress.n_planned < game.n_matches:
                if scheduler.poll():
                    raise RuntimeError("the matches could not be scheduled: see above")
                # Loading torch is no part of the play: the clock and the storm wait for it.
                began = now
            elif progress.is_over:
                return round(now - began, 2)
            elif storm:
                storm.do_what_is_due(now, progress)
            if now > told_at + LINE_EVERY_S:
                told_at = now
                acts = f", {storm.done.total()} acts" if storm else ""
                print(f"{now - began:5.0f} s: {progress.n_outcomes} outcomes{acts}", flush=True)
            sleep(POLL_S)
    finally:
        if storm:
            storm.resume_until(float("inf"))
    raise TimeoutError(f"not over after {LIMIT_S:g} s")


if __name__ == "__main__":
    schedule(Game(*json.loads(sys.argv[1])))
