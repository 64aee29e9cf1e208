"""Play the same tournaments undisturbed and in a storm, on SQLite and on PostgreSQL; compare.

The storm kills and stops every program at random, but by a seed. What is played: a board of the
skill game, whose matches last some time, and one of networks and search, so that all have work.
"""

import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, NamedTuple

import django
import psutil

from benchmarks.report import (
    format_table,
    make_parser,
    number_of_seconds,
    whole_number,
    write_report,
)
from benchmarks.storm import oracle
from benchmarks.storm.servers import OutsideServer, run_outside_servers, run_postgres
from launcher.programs import PYTHON
from launcher.stack import Stack, start_stack

DATABASES = ("sqlite", "postgres")
LEVELS = tuple(f"level:{10 * level}" for level in range(10))
SEARCHES = ("alphabeta:2", "greedy", "random", "mcts:50")
N_NETWORKS = 4
N_NODES = 2
MATCH_S = 0.25
# Of the matches, those played by networks and search.
NETWORKED_SHARE = 0.2
LIMIT_S = 1_800.0
POLL_S = 0.5
LINE_EVERY_S = 10.0
SHORTEST_STOP_S, LONGEST_STOP_S = 5.0, 40.0
KINDS = ("SIGKILL", "SIGSTOP")


class Act(NamedTuple):
    """One thing done to one program."""

    program: str
    kind: str
    stop_s: float


def draw_acts(programs: Sequence[str], rng: Random) -> Iterator[Act]:
    """Yield acts without end, in rounds: each round kills and stops every program once."""
    while True:
        acts = [(program, kind) for program in programs for kind in KINDS]
        rng.shuffle(acts)
        for program, kind in acts:
            yield Act(program, kind, rng.uniform(SHORTEST_STOP_S, LONGEST_STOP_S))


@dataclass
class Storm:
    """Does the next act every so often; lets what is stopped go on when its time is up."""

    acts: Iterator[Act]
    find_pid: Callable[[str], int | None]
    every_s: float
    # How often each program was killed or stopped, as "name SIGKILL".
    done: Counter[str] = field(default_factory=Counter)
    _next_at: float = 0.0
    _stopped: list[tuple[float, psutil.Process]] = field(default_factory=list)

    def do_what_is_due(self, now: float) -> None:
        """Do the next act, if it is time for it (seconds of any clock)."""
        self.resume_until(now)
        if now < self._next_at:
            return
        self._next_at = now + self.every_s
        act = next(self.acts)
        pid = self.find_pid(act.program)
        if pid is None:
            return  # it is being started again
        # psutil knows a process from a later one of the same number.
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if act.kind == "SIGKILL":
                process.kill()
            else:
                process.suspend()
                self._stopped.append((now + act.stop_s, process))
            self.done[f"{act.program} {act.kind}"] += 1

    def resume_until(self, now: float) -> None:
        """Let everything go on whose stop is over by now."""
        for until, process in self._stopped:
            if until <= now:
                with suppress(psutil.NoSuchProcess):
                    process.resume()
        self._stopped = [stopped for stopped in self._stopped if stopped[0] > now]


def schedule(n_levels: int, n_networked: int) -> None:
    """Schedule matches of the skill game and of connect four, from inside a stack."""
    django.setup()
    # Networks need torch, and boards Django: neither is wanted where the storm is made.
    from benchmarks.networks import Size, register_networks  # noqa: PLC0415
    from benchmarks.stacks import open_board, schedule_agents  # noqa: PLC0415

    networks = register_networks("storm", N_NETWORKS, size=Size("storm", 512, 2))
    board = open_board("storm-networks", "connect_four")
    terms = {"pairing": "random", "replays": True}
    schedule_agents(board, [*networks, *SEARCHES], n_networked, seed=11, **terms)
    board = open_board("storm-levels", "skill_game", game_parameters={"duration_s": MATCH_S})
    schedule_agents(board, LEVELS, n_levels, seed=11, **terms)


def play(database: str, options: Namespace, *, is_stormy: bool) -> tuple[oracle.Record, Any]:
    """Play all tournaments in a fresh stack; return what the oracle read, and figures.

    PostgreSQL comes with servers from outside: so that one storm meets those of the stack and the
    other those that somebody else keeps.
    """
    with ExitStack() as around:
        folder = Path(around.enter_context(TemporaryDirectory(prefix="evalsite-storm-")))
        url, settings = str(folder / "var" / "db.sqlite3"), {}
        servers: Mapping[str, OutsideServer] = {}
        if database == "postgres":
            url = around.enter_context(run_postgres(folder / "postgres"))
            servers = around.enter_context(run_outside_servers(folder))
            settings = {"DATABASE_URL": url, "REDIS_URL": servers["broker"].url}
            settings["FAST_REDIS_URL"] = servers["fast"].url
        stack = around.enter_context(
            start_stack(
                folder / "var", nodes=N_NODES, slots=1, gpus=1, web=True, flower=True,
                settings=settings,
            )
        )  # fmt: skip
        began = monotonic()
        n_networked = round(NETWORKED_SHARE * options.matches)
        # A process of its own: the settings of Django are those of one stack for good.
        subprocess.run(
            [PYTHON, "-m", __name__, str(options.matches - n_networked), str(n_networked)],
            env={**stack.env, "DJANGO_SETTINGS_MODULE": "evalsite.settings"},
            check=True,
        )
        storm = make_storm(stack, servers, options) if is_stormy else None
        await_end(url, storm)
        seconds = round(monotonic() - began, 1)
        # The database is read when nobody writes to it any more.
        stack.stop()
        acts = dict(sorted(storm.done.items())) if storm else {}
        return oracle.read_record(url), {"seconds": seconds, "acts": acts}


def make_storm(stack: Stack, servers: Mapping[str, OutsideServer], options: Namespace) -> Storm:
    """Return a storm over all programs of a stack and the servers beside it."""

    def find_pid(program: str) -> int | None:
        return servers[program].pid if program in servers else stack.pids().get(program)

    # Sorted, as the seed must draw the same acts in every run.
    programs = sorted({state.name for state in stack.states()} | set(servers))
    return Storm(draw_acts(programs, Random(options.seed)), find_pid, options.every)


def await_end(url: str, storm: Storm | None) -> None:
    """Wait until all is played and rated, while the storm does what is due."""
    began, told_at = monotonic(), 0.0
    try:
        while (now := monotonic()) < began + LIMIT_S:
            is_over, n_outcomes = oracle.is_over(url)
            if is_over:
                return
            if storm:
                storm.do_what_is_due(now)
            if now > told_at + LINE_EVERY_S:
                told_at = now
                n_acts = storm.done.total() if storm else 0
                print(f"{now - began:5.0f} s: {n_outcomes} outcomes, {n_acts} acts", flush=True)
            sleep(POLL_S)
    finally:
        if storm:
            storm.resume_until(float("inf"))
    raise TimeoutError(f"not over after {LIMIT_S:g} s")


def measure(database: str, options: Namespace) -> dict[str, Any]:
    """Return what the storm changed on one kind of database: it should be nothing."""
    print(f"{database}, undisturbed", flush=True)
    calm, calm_figures = play(database, options, is_stormy=False)
    print(f"{database}, storm", flush=True)
    stormy, figures = play(database, options, is_stormy=True)
    acts = figures["acts"]
    return {
        "matches": options.matches,
        "lost": options.matches - len(stormy.outcomes) - stormy.n_void,
        "void": stormy.n_void,
        "contradictions": [*calm.faults, *stormy.faults],
        "differences": oracle.compare_records(calm, stormy),
        "kills": sum(n for act, n in acts.items() if act.endswith("SIGKILL")),
        "stops": sum(n for act, n in acts.items() if act.endswith("SIGSTOP")),
        "programs_hit": len({act.split()[0] for act in acts}),
        "acts": acts,
        "attempts_calm": calm.n_attempts,
        "attempts_stormy": stormy.n_attempts,
        "undisturbed_s": calm_figures["seconds"],
        "disturbed_s": figures["seconds"],
    }


def is_sound(figures: Mapping[str, Any]) -> bool:
    """Say whether nothing was lost or given up, nothing contradicts itself and nothing differs."""
    return not any(figures[name] for name in ("lost", "void", "contradictions", "differences"))


def format_figures(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table with a column for each database, lists by their lengths."""
    rows = []
    for name in next(iter(figures.values())):
        values = [one[name] for one in figures.values()]
        rows.append([name, *(str(len(v) if isinstance(v, list | dict) else v) for v in values)])
    return format_table(["", *figures], rows)


def main(arguments: Sequence[str]) -> int:
    """Measure and print; exit 1 when anything was lost, contradicts itself or differs."""
    parser = make_parser("chaos --all", "Kill and stop every program at random; nothing changes.")
    add = parser.add_argument
    add("--all", action="store_true", help="every program, both databases")
    add("--on", choices=DATABASES, help="on one kind of database only")
    add("--matches", type=whole_number(20), default=1_000, help="1000")
    add("--every", type=number_of_seconds(0.5), default=4.0, metavar="S", help="4 s")
    add("--seed", type=whole_number(0), default=0, help="of the storm (0)")
    options = parser.parse_args(arguments)
    databases = [options.on] if options.on else DATABASES
    figures = {database: measure(database, options) for database in databases}
    write_report(format_figures(figures), figures, options.json)
    for database, one in figures.items():
        for line in [*one["contradictions"], *one["differences"]][:20]:
            print(f"{database}: {line}", file=sys.stderr)
    return 0 if all(map(is_sound, figures.values())) else 1


if __name__ == "__main__":
    schedule(int(sys.argv[1]), int(sys.argv[2]))
