"""How fast battles of Pokemon Showdown are played, and whether they are the same in every way.

./run bench showdown [--battle-format FORMAT] [--total-battles N] [--num-workers N]
                     [--team-set DIR] [--save-dir DIR] [--model FILE] [--opponent AGENT]

Through the real queue: battles between random agents, and of a network that is asked in shared
batches. Beside it, in the same run: a copy of the network in each worker, a loop in one process,
poke-env on the real server, and the package alone. `benchmark_results.json` has the figures.
"""

import json
import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from arena.checkpoints import inspect_file
from arena.errors import ArenaError, CheckpointFileError
from arena.games.showdown.installed import find_folder, is_playable
from arena.policies.spec import parse_policy
from benchmarks import comparison
from benchmarks.battling import queue
from benchmarks.battling.bare import play_bare
from benchmarks.networks import Size, find_safetensors, write_checkpoint
from benchmarks.report import Cell, format_table, make_parser, whole_number, write_report
from benchmarks.showdown_server import measure_poke_env
from launcher.errors import SetupError
from launcher.folders import ROOT
from launcher.programs import ONE_THREAD
from launcher.showdown.teams import check_teams

GAMES = {"gen1randombattle": "showdown_gen1random", "gen1ou": "showdown_gen1ou"}
WITH_TEAMS, WITHOUT_TEAMS = ("gen1ou",), ("gen1randombattle",)
# More at once make it no faster.
AT_ONCE, MOST_OF_POKE_ENV = 40, 200
RESULTS = "benchmark_results.json"
SAVE_DIR = ROOT / "var" / "benchmarks" / "showdown"
# Of the run that is shipped, and the format that it is for.
SHIPPED, SHIPPED_FOR = ROOT / "examples" / "showdown" / "checkpoints", "gen1randombattle"
UNTRAINED = Size("untrained", width=256, depth=2)
SEED = 11
LEAST_OF_POKE_ENV, LEAST_OF_BARE = 2.0, 0.3


def measure(options: Namespace) -> dict[str, Any]:
    """Play everything; return all figures."""
    game, n = GAMES[options.battle_format], options.total_battles
    show_progress("poke-env on the real server")
    # First, as the stack below takes another data folder, which has no tools.
    poke_env = measure_peer(options)
    with TemporaryDirectory(prefix="evalsite-bench-") as name:
        if options.team_set is not None:
            game = write_game(options, Path(name))
        if options.model is None and options.battle_format == SHIPPED_FOR:
            # By its name the last one is the strongest.
            options.model = find_safetensors([SHIPPED])[-1]
        model = options.model
        if model is None:
            model = write_checkpoint(UNTRAINED.seal_for_game(game), Path(name), seed=1).path
        with queue.open_queue(game, n_workers=options.num_workers) as stack:
            # Imports and the start of simulators are counted nowhere.
            stack.play_random(2 * options.num_workers)
            rates = {"queue": list[float](), "bare": list[float]()}
            for number in range(options.rounds):
                show_progress(f"round {number + 1}: the package alone, then through the queue")
                rates["bare"].append(play_bare(options.battle_format, n).battles_per_s)
                rates["queue"].append(n / stack.play_random(n))
            stack.add_model(model)
            stack.generate(
                queue.COPY, options.opponent, 2 * options.num_workers, Path(name) / "w", seed=1
            )
            ways = {}
            for agent in queue.PLACEMENTS:
                show_progress(f"{n} battles of the network, {queue.PLACEMENTS[agent]}")
                out = Path(name) / agent
                ways[agent] = stack.generate(agent, options.opponent, n, out, seed=SEED)
        show_progress("the same battles in a loop")
        shared, copies = ways[queue.MODEL], ways[queue.COPY]
        loop = comparison.compare_run(shared.folder, shared.seconds, [model])
        agreement = queue.compare_generated(shared, copies)
        return {
            **write_seed_fields(options, shared, loop),
            "simulator_battles_per_s": median(rates["queue"]),
            "bare_battles_per_s": median(rates["bare"]),
            "ratio_bare": median(rates["queue"]) / median(rates["bare"]),
            "rounds": rates,
            "cores": os.cpu_count(),
            "copies_s": copies.seconds,
            "copies_battles_per_s": n / copies.seconds,
            "ratio_copies": copies.seconds / shared.seconds,
            "rows_per_forward": shared.rows_per_forward,
            "agreement": agreement._asdict(),
            "loop": loop,
            "poke_env": poke_env,
        }


def write_game(options: Namespace, folder: Path) -> str:
    """Make a game of the user's teams and return its id. Raises SetupError."""
    game = "own_teams"
    team_options = Namespace(
        folder=options.team_set, format=options.battle_format, game=game, plugins=folder
    )
    if check_teams(team_options):
        raise SetupError(f"--team-set {options.team_set}: see above")
    os.environ["EVALSITE_PLUGINS"] = str(folder)
    return game


def write_seed_fields(
    options: Namespace, shared: queue.Generated, loop: dict[str, Any]
) -> dict[str, Any]:
    """Return what was asked for and what the network won, as the seed names it."""
    seats = next(agent for agent in shared.manifest["agents"] if agent["name"] == queue.MODEL)[
        "seats"
    ]
    counts = {
        key: sum(seat.get(key, 0) for seat in seats.values()) for key in ("wins", "losses", "draws")
    }
    return {
        "model": str(options.model or UNTRAINED.name),
        "opponent": options.opponent,
        "battle_format": options.battle_format,
        "team_set": str(options.team_set) if options.team_set else None,
        "total_battles": options.total_battles,
        "num_workers": options.num_workers,
        "elapsed_s": shared.seconds,
        "battles_per_second": options.total_battles / shared.seconds,
        "steps_per_second": loop["ours_steps_per_s"],
        **counts,
        "win_rate": counts["wins"] / options.total_battles,
        "illegal_actions": shared.manifest["illegal_actions"],
        "forfeits": shared.manifest["forfeits"],
    }


def refuse_input(options: Namespace) -> str:
    """Return what would fail only once all else is measured; empty where nothing would."""
    if options.model is not None and not options.model.is_file():
        return f"--model {options.model}: there is no such file"
    try:
        if options.model is not None:
            inspect_file(options.model)
    except CheckpointFileError as error:
        return f"--model {options.model}: {error}"
    try:
        if options.opponent not in queue.PLACEMENTS:
            parse_policy(options.opponent)
    except ArenaError as error:
        return f"--opponent {options.opponent}: {error}"
    try:
        options.save_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"--save-dir {options.save_dir}: {error.strerror}"
    return ""


def measure_peer(options: Namespace) -> dict[str, Any]:
    """Return what poke-env alone does on the real server, or why there is no such figure."""
    if options.battle_format not in WITHOUT_TEAMS:
        return {"battles_per_s": None, "skipped": "its players bring no teams to this format"}
    n = min(options.total_battles, MOST_OF_POKE_ENV)
    try:
        return measure_poke_env(n, AT_ONCE, battle_format=options.battle_format)
    except (SetupError, RuntimeError) as error:
        return {"battles_per_s": None, "skipped": str(error)}


def show_progress(step: str) -> None:
    print(step, flush=True)


def format_figures(figures: dict[str, Any]) -> str:
    """Return the tables for a person."""
    poke_env, agreement = figures["poke_env"], figures["agreement"]
    per_s, ours = figures["battles_per_second"], figures["simulator_battles_per_s"]
    poke_env_rate = poke_env["battles_per_s"]
    rows: list[list[Cell]] = [
        ["random, the package alone", ours, figures["bare_battles_per_s"], figures["ratio_bare"],
         f">= {LEAST_OF_BARE}"],
        ["random, poke-env on the server", ours, poke_env_rate,
         ours / poke_env_rate if poke_env_rate else None, f">= {LEAST_OF_POKE_ENV}"],
        ["network, a copy per worker", per_s, figures["copies_battles_per_s"],
         figures["ratio_copies"], "-"],
        ["network, a loop", per_s, figures["total_battles"] / figures["loop"]["baseline_s"],
         figures["loop"]["baseline_s"] / figures["elapsed_s"], "-"],
    ]  # fmt: skip
    lines = [
        f"{figures['total_battles']} battles of {figures['battle_format']}, "
        f"{figures['num_workers']} workers, {figures['cores']} cores; battles a second:",
        format_table(["who plays, against which peer", "ours", "peer", "ratio", "limit"], rows),
        *([f"poke-env: {poke_env['skipped']}"] if poke_env.get("skipped") else []),
        f"same winner as with a copy per worker: {agreement['n_same_winner']} of "
        f"{agreement['n_battles']}, near ties among the others {agreement['n_near_ties']}; "
        f"same columns: {agreement['same_columns']}; rows a forward "
        f"{figures['rows_per_forward']:.1f}",
        "",
        "Against the loop, from the same seeds:",
        comparison.format_figures(figures["loop"]),
    ]
    return "\n".join(lines)


def is_sound(figures: dict[str, Any]) -> bool:
    """Say whether every way has played the same, legally."""
    agreement, loop = figures["agreement"], figures["loop"]
    n_explained = agreement["n_same_winner"] + agreement["n_near_ties"]
    return bool(
        n_explained == agreement["n_battles"]
        and agreement["same_columns"]
        and loop["schema_equal"]
        and loop["win_rates_agree"]
        and not figures["illegal_actions"]
    )


def main(arguments: Sequence[str]) -> int:
    """Measure, print and write the file; exit 1 where two ways do not agree."""
    parser = make_parser("showdown", "Battles of Pokemon Showdown through the queue and beside it.")
    add = parser.add_argument
    add("--battle-format", choices=tuple(GAMES), default="gen1randombattle")
    add("--total-battles", type=whole_number(2), default=500, metavar="N", help="even (500)")
    add("--num-workers", type=whole_number(1), default=10, metavar="N", help="(10)")
    add("--team-set", type=Path, metavar="DIR", help="texts of teams, with gen1ou; else ours")
    add("--save-dir", type=Path, default=SAVE_DIR, metavar="DIR", help=f"of {RESULTS}")
    add("--model", type=Path, metavar="FILE", help="a checkpoint; else the last that is shipped")
    add("--opponent", default="random", metavar="AGENT", help="such as max_damage (random)")
    add("--rounds", type=whole_number(1), default=3, metavar="N", help="of random battles (3)")
    options = parser.parse_args(arguments)
    if not is_playable():
        parser.error(f"pokemon-showdown is not in {find_folder()}: ./run tools install showdown")
    if options.team_set is not None and options.battle_format not in WITH_TEAMS:
        parser.error(f"--team-set goes with --battle-format {WITH_TEAMS[0]}")
    if reason := refuse_input(options):
        parser.error(reason)
    # One thread for every forward, wherever it runs; read by the processes started from here.
    os.environ.update(ONE_THREAD)
    try:
        figures = measure(options)
    except SetupError as error:
        parser.error(str(error))
    path = options.save_dir / RESULTS
    path.write_text(json.dumps(figures, indent=2) + "\n")
    write_report(format_figures(figures), figures, options.json)
    print(f"{path} has all figures; medians of {options.rounds} rounds.")
    return 0 if is_sound(figures) else 1
