"""Play a tournament undisturbed, then again while processes are killed, and compare.

./run chaos [--gpu | --chess | --spot | --servers | --showdown | --generate | --experience | --all]
            [--on DATABASE] [--matches N] [--transitions N] [--every S] [--seed N] [--json FILE]

Play nodes are killed in turn and the broker twice; with --gpu agents are networks on the gpu queue,
and their only server is killed; with --chess matches last some seconds, and what is decided is
counted: most of it should be decided once; with --spot eight nodes are spot machines, drawn by a
seed, told by SIGTERM and killed two seconds later; with --servers game servers play, and they and
the head are killed, by outcomes; with --showdown play nodes and the simulators of their players are
killed in turn, with --generate the same while trajectories are kept, whose files must be the same
bytes; with --experience sink, trainer, stream and web server are killed in turn while players
upload, and each accepted step should be in the segments once; with --all every program is killed
and stopped at random, but by a seed, on SQLite and on PostgreSQL.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from arena.games.showdown.installed import find_folder, is_playable
from benchmarks.report import (
    format_table,
    make_parser,
    number_of_seconds,
    whole_number,
    write_report,
)
from benchmarks.storm import oracle, run, simulators, spot, uploading
from benchmarks.storm.generated import measure_generated
from benchmarks.storm.run import Game, Played, Weather, play
from benchmarks.storm.served import play_served

DATABASES = ("sqlite", "postgres")
SEARCHES = ("alphabeta:2", "greedy", "random", "mcts:50")
# With --all: of the matches, those played by networks and search.
NETWORKED_SHARE = 0.2
# Of the matches: episodes of a game of one seat, counted by blocks of one seed.
WALK_SHARE = 0.1
NODES = ("node-1", "node-2")
# Some 350 moves a match: it lasts as long as it takes to the next kill.
CHESS_MOVE_S = 0.01
CHESS_NODES = tuple(f"node-{number + 1}" for number in range(run.CHESS_NODES))
LEAST_PLAYED_ONCE = 0.8
MOST_THROWN_AWAY = 0.05


def choose_run(options: Namespace) -> tuple[Game, Weather]:
    n = options.matches
    n_walks = round(WALK_SHARE * n)
    if options.all:
        n_networked = round(NETWORKED_SHARE * n)
        n_levels = n - n_networked - n_walks
        game = Game(n_levels, 0.25, n_networked, 4, searches=SEARCHES, n_walks=n_walks)
        return game, Weather(options.every, options.seed)
    if options.gpu:
        game = Game(0, 0.0, n - n_walks, 6, 1024, 4, n_walks=n_walks)
        return game, Weather(options.every, programs=("gpu-1",))
    if options.chess:
        game = Game(0, 0.0, n_chess=n, move_s=CHESS_MOVE_S)
        return game, Weather(options.every, programs=CHESS_NODES)
    if options.showdown:
        return Game(0, 0.0, n_battles=n), Weather(options.every, programs=simulators.KILLED)
    if options.spot:
        weather = Weather(options.every, options.seed, spot.NODES, notice_s=spot.NOTICE_S)
        return Game(0, 0.0, n_unhurried=n), weather
    # 2,000 matches last a minute undisturbed on two nodes.
    game = Game(n - n_walks, 0.06, n_walks=n_walks)
    return game, Weather(options.every, programs=NODES, broker_at=(n // 3, 2 * n // 3))


def measure(database: str, options: Namespace) -> dict[str, Any]:
    """Play twice on one kind of database; return what the storm changed: it should be nothing."""
    print(f"{database}, undisturbed: {options.matches} matches", flush=True)
    if options.generate:
        return measure_generated(options.matches, options.every)
    by_server: dict[str, Any] = {}
    if options.servers:
        calm, _ = play_served(options.matches, is_stormy=False)
        print(f"undisturbed in {calm.seconds:.0f} s; the same again, disturbed", flush=True)
        stormy, by_server = play_served(options.matches, is_stormy=True)
    else:
        game, weather = choose_run(options)
        is_postgres = database == "postgres"
        calm = play(game, None, is_postgres=is_postgres, has_all=options.all)
        print(f"undisturbed in {calm.seconds:.0f} s; the same again, disturbed", flush=True)
        stormy = play(game, weather, is_postgres=is_postgres, has_all=options.all)
    assert stormy.storm
    record, storm = stormy.record, stormy.storm
    acts, n_broker_kills = dict(sorted(storm.done.items())), storm.done["broker SIGKILL"]
    differences = oracle.compare_records(calm.record, record)
    figures = {
        "matches": options.matches,
        "lost": options.matches - len(record.outcomes) - record.n_void,
        "doubled": record.n_counted - sum(1 for _ in record.results()),
        "void": record.n_void,
        "contradictions": [*calm.record.faults, *record.faults],
        "undisturbed_s": calm.seconds,
        "disturbed_s": stormy.seconds,
    }
    if options.all:
        return figures | {
            "differences": differences,
            "kills": storm.count_acts("SIGKILL"),
            "stops": storm.count_acts("SIGSTOP"),
            "programs_hit": len({act.split()[0] for act in acts}),
            "acts": acts,
            "attempts_calm": calm.record.n_attempts,
            "attempts_stormy": record.n_attempts,
        }
    if options.chess:
        plies = sum(len(row[-1].split()) for row in record.outcomes.values())
        figures |= {
            "plies": plies,
            "decisions": stormy.n_decisions,
            "played_once": round(plies / max(1, stormy.n_decisions), 3),
        }
    if options.spot:
        figures |= describe_spot(stormy)
    if options.servers:
        figures |= {"acts": acts, "attempts": by_server}
    return figures | {
        "ratings_equal": not differences,
        "kills": storm.count_acts("SIGKILL") - n_broker_kills,
        "broker_kills": n_broker_kills,
        "recover_s_max": round(max(storm.recoveries_s, default=0.0), 2),
        "attempts_retried": record.n_retried,
        "reports_refused": record.n_refused,
    }


def describe_spot(stormy: Played) -> dict[str, Any]:
    """Return what was thrown away, as the agents counted it, and what the books say of nodes."""
    assert stormy.storm
    assert stormy.books
    n_useful = spot.count_useful(stormy.record.outcomes.values())
    return {
        "thrown_away_share": round(1 - n_useful / max(1, stormy.n_spent), 4),
        "played_s": round(n_useful * spot.SLICE_S, 1),
        "notices": stormy.storm.count_acts(run.NOTICE),
        **stormy.books,
    }


def is_sound(figures: Mapping[str, Any]) -> bool:
    """Say whether nothing was lost or given up, nothing contradicts itself and nothing differs."""
    wrong = ("lost", "doubled", "void", "contradictions", "differences")
    is_played_once = figures.get("played_once", 1.0) >= LEAST_PLAYED_ONCE
    is_kept = figures.get("thrown_away_share", 0.0) <= MOST_THROWN_AWAY
    return (
        is_played_once
        and is_kept
        and figures.get("books_add_up", True)
        and figures.get("ratings_equal", True)
        and not any(figures.get(name) for name in wrong)
    )


def format_figures(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a table with a column for each database, lists by their lengths."""
    rows = []
    for name in next(iter(figures.values())):
        values = [result[name] for result in figures.values()]
        rows.append([name, *(str(len(v) if isinstance(v, list | dict) else v) for v in values)])
    return format_table(["", *figures], rows)


def _storm_uploads(options: Namespace) -> int:
    options.every = options.every or uploading.KILL_EVERY_S
    figures = uploading.measure_uploads(options)
    write_report(format_figures({"experience": figures}), figures, options.json)
    return 0 if uploading.is_sound(figures) else 1


def _make_parser() -> ArgumentParser:
    parser = make_parser("chaos", "Kill processes during a tournament; lose nothing.")
    add, which = parser.add_argument, parser.add_mutually_exclusive_group()
    which.add_argument("--gpu", action="store_true", help="kill the server of networks")
    which.add_argument("--chess", action="store_true", help="kill nodes during long matches")
    which.add_argument("--spot", action="store_true", help="take spot machines away at random")
    which.add_argument("--servers", action="store_true", help="kill game servers and the head")
    which.add_argument("--showdown", action="store_true", help="kill nodes and simulators")
    which.add_argument("--generate", action="store_true", help="the same, and compare bytes")
    which.add_argument("--experience", action="store_true", help="kill what takes uploads")
    which.add_argument("--all", action="store_true", help="kill and stop every program")
    add("--on", choices=DATABASES, help="sqlite; with --all both")
    add(
        "--matches",
        type=whole_number(10),
        help="2000, 10000 with --gpu, 200 with --chess, 1000 with --servers, --showdown and --all",
    )
    add(
        "--every",
        type=number_of_seconds(0.1),
        metavar="S",
        help="2; 3: --chess and --experience, 4: --all, 5: --gpu, --showdown and --generate, "
        "8: --spot",
    )
    add("--transitions", type=whole_number(1_000), default=500_000, help="of --experience")
    add("--seed", type=whole_number(0), default=0, help="of the storm of --spot or --all (0)")
    return parser


def main(arguments: Sequence[str]) -> int:
    """Measure and print; exit 1 when anything was lost, counted twice or differs."""
    parser = _make_parser()
    options = parser.parse_args(arguments)
    if options.experience:
        return _storm_uploads(options)
    # Networks play 700 matches a second: fewer would be over before a few kills.
    if options.servers and (options.every or options.on == "postgres"):
        parser.error("--servers kills by outcomes and plays on sqlite: leave --every and --on out")
    kinds = {
        "all": (1_000, 4.0),
        "servers": (1_000, 0.0),
        "gpu": (10_000, 5.0),
        "chess": (200, 3.0),
        "spot": (2_000, 8.0),
        "showdown": (1_000, 5.0),
        "generate": (2_000, 5.0),
    }
    if (options.showdown or options.generate) and not is_playable():
        parser.error(f"pokemon-showdown is not in {find_folder()}: ./run tools install showdown")
    if options.generate and options.on == "postgres":
        parser.error("--generate plays on sqlite: leave --on out")
    usual = next((kinds[kind] for kind in kinds if getattr(options, kind)), (2_000, 2.0))
    options.matches = options.matches or usual[0]
    options.every = options.every or usual[1]
    databases = [options.on] if options.on else DATABASES if options.all else DATABASES[:1]
    figures = {database: measure(database, options) for database in databases}
    # Of a few programs there is one run, with all figures at the top.
    flat = figures if options.all else figures[databases[0]]
    write_report(format_figures(figures), flat, options.json)
    for database, result in figures.items():
        for line in [*result.get("contradictions", ()), *result.get("differences", ())][:20]:
            print(f"{database}: {line}", file=sys.stderr)
    return 0 if all(map(is_sound, figures.values())) else 1
