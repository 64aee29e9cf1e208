"""Play the same tournaments undisturbed and in a storm, on SQLite and on PostgreSQL; compare."""

import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

from benchmarks.options import parser, seconds, whole, write_json
from benchmarks.storm import oracle
from benchmarks.storm.acts import Storm, draw_acts
from benchmarks.storm.servers import OutsideServer, outside_servers, postgres
from benchmarks.table import table
from launcher.programs import PYTHON
from launcher.stack import Stack, start_stack

DATABASES = ("sqlite", "postgres")
N_NODES = 2
MATCH_S = 0.25
NETWORKED_SHARE = 0.2
"""Of the matches, those played by networks and search."""
LIMIT_S = 1_800.0
POLL_S = 0.5
TELL_S = 10.0


@dataclass(frozen=True)
class Place:
    """Where a stack runs: its database, and the servers that are not its own."""

    folder: Path
    database: str
    """What the oracle opens."""
    settings: Mapping[str, str] = field(default_factory=dict)
    servers: Mapping[str, OutsideServer] = field(default_factory=dict)


@contextmanager
def open_place(database: str) -> Iterator[Place]:
    """Yield a folder with an empty database; PostgreSQL comes with servers from outside."""
    with TemporaryDirectory(prefix="evalsite-storm-") as name:
        folder = Path(name)
        if database == "sqlite":
            yield Place(folder / "var", str(folder / "var" / "db.sqlite3"))
            return
        with postgres(folder / "postgres") as url, outside_servers(folder) as servers:
            urls = {"REDIS_URL": servers["broker"].url, "FAST_REDIS_URL": servers["fast"].url}
            yield Place(folder / "var", url, {"DATABASE_URL": url, **urls}, servers)


def play(place: Place, options: Namespace, storm: bool) -> tuple[oracle.Record, dict[str, Any]]:
    """Play all tournaments in a fresh stack; return what the oracle read, and figures."""
    shape = {"nodes": N_NODES, "slots": 1, "gpus": 1, "web": True, "flower": True}
    with start_stack(place.folder, settings=place.settings, **shape) as stack:  # type: ignore[arg-type]
        began = monotonic()
        _schedule(stack, options.matches)
        disturber = _make_storm(stack, place, options) if storm else None
        _wait(place, disturber)
        figures = {"seconds": round(monotonic() - began, 1)}
    acts = dict(sorted(disturber.done.items())) if disturber else {}
    return oracle.read(place.database), figures | {"acts": acts}


def _schedule(stack: Stack, n_matches: int) -> None:
    n_networked = round(NETWORKED_SHARE * n_matches)
    sizes = [str(n_matches - n_networked), str(n_networked), str(MATCH_S)]
    command = [PYTHON, "-m", "benchmarks.storm.schedule", *sizes]
    django = {"DJANGO_SETTINGS_MODULE": "evalsite.settings"}
    subprocess.run(command, env=dict(stack.env) | django, check=True)


def _make_storm(stack: Stack, place: Place, options: Namespace) -> Storm:
    def find_pid(program: str) -> int | None:
        server = place.servers.get(program)
        return server.pid if server else stack.pids().get(program)

    programs = sorted({state.name for state in stack.states()} | set(place.servers))
    acts = draw_acts(programs, Random(options.seed))
    return Storm(acts, find_pid, every_s=options.every)


def _wait(place: Place, storm: Storm | None) -> None:
    """Wait until all is played and rated, with a storm until every program was hit both ways."""
    began, told_at = monotonic(), 0.0
    try:
        while (now := monotonic()) < began + LIMIT_S:
            is_over, n_outcomes = oracle.is_over(place.database)
            if is_over:
                return
            if storm:
                storm.blow(now)
            if now > told_at + TELL_S:
                told_at = now
                n_acts = sum(storm.done.values()) if storm else 0
                print(f"{now - began:5.0f} s: {n_outcomes} outcomes, {n_acts} acts", flush=True)
            sleep(POLL_S)
    finally:
        if storm:
            storm.end()
    raise TimeoutError(f"not over after {LIMIT_S:g} s")


def measure(database: str, options: Namespace) -> dict[str, Any]:
    """Return what the storm changed on one kind of database: it should be nothing."""
    records, figures = [], {}
    for storm in (False, True):
        print(f"{database}, {'storm' if storm else 'undisturbed'}", flush=True)
        with open_place(database) as place:
            record, figures[storm] = play(place, options, storm)
            records.append(record)
    calm, stormy = records
    hit = figures[True]["acts"]
    return {
        "matches": options.matches,
        "lost": options.matches - len(stormy.outcomes) - stormy.n_void,
        "void": stormy.n_void,
        "contradictions": [*calm.faults, *stormy.faults],
        "differences": oracle.compare(calm, stormy),
        "kills": sum(n for act, n in hit.items() if act.endswith("SIGKILL")),
        "stops": sum(n for act, n in hit.items() if act.endswith("SIGSTOP")),
        "programs_hit": len({act.split()[0] for act in hit}),
        "acts": hit,
        "attempts_calm": calm.n_attempts,
        "attempts_stormy": stormy.n_attempts,
        "undisturbed_s": figures[False]["seconds"],
        "disturbed_s": figures[True]["seconds"],
    }


def is_sound(figures: Mapping[str, Any]) -> bool:
    """Say whether nothing was lost or given up, nothing contradicts itself and nothing differs."""
    return not any(figures[name] for name in ("lost", "void", "contradictions", "differences"))


def main(arguments: Sequence[str]) -> int:
    """Measure and print; exit 1 when anything was lost, contradicts itself or differs."""
    made = parser("chaos --all", "Kill and stop every program at random; nothing may change.")
    made.add_argument("--all", action="store_true", help="every program, both databases")
    made.add_argument("--on", choices=DATABASES, help="on one kind of database only")
    made.add_argument("--matches", type=whole(20), default=1_000, help="1000")
    made.add_argument("--every", type=seconds(0.5), default=4.0, metavar="S", help="4 s")
    made.add_argument("--seed", type=whole(0), default=0, help="of the storm (0)")
    options = made.parse_args(arguments)
    chosen = [options.on] if options.on else DATABASES
    figures = {database: measure(database, options) for database in chosen}
    _show(figures)
    write_json(options.json, dict(figures))
    return 0 if all(map(is_sound, figures.values())) else 1


def _show(figures: Mapping[str, Mapping[str, Any]]) -> None:
    def text(value: Any) -> str:
        return str(len(value)) if isinstance(value, list | dict) else str(value)

    names = next(iter(figures.values()))
    rows = [[name, *(text(one[name]) for one in figures.values())] for name in names]
    print(table(["", *figures], rows))
    for database, one in figures.items():
        for line in [*one["contradictions"], *one["differences"]][:20]:
            print(f"{database}: {line}", file=sys.stderr)
