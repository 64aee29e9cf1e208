"""Compare what is generated in batches with one network in a loop at batch 1.

./run bench comparison [--run DIR] [--matches N] [--json FILE] [--markdown FILE]

Without --run it generates a run itself, on a private stack, between two of the example checkpoints.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from json import loads
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import binomtest

from arena import trajectories
from benchmarks.baseline import Loop, Plan
from benchmarks.networks import find_safetensors
from benchmarks.report import (
    Cell,
    format_table,
    make_parser,
    whole_number,
    writable_path,
    write_report,
)
from benchmarks.stacks import run_python
from launcher.folders import ROOT
from launcher.stack import start_stack

EXAMPLES = ROOT / "examples" / "connect_four" / "checkpoints"
N_WORKERS = 10


@dataclass(frozen=True)
class Way:
    """The trajectories of one way of playing: rows, and results by agent and seat."""

    rows: pa.Table
    seconds: float

    @cached_property
    def episodes(self) -> dict[int, pa.Table]:
        return trajectories.split_episodes(self.rows)

    @cached_property
    def results(self) -> dict[tuple[str, int], Counter[str]]:
        """How often each agent won, drew and lost, by seat."""
        results: dict[tuple[str, int], Counter[str]] = {}
        ended = self.rows.filter(self.rows.column("terminated"))
        for agent, seat, reward in read_columns(ended, "agent", "seat", "reward"):
            kind = "wins" if reward > 0 else "losses" if reward < 0 else "draws"
            results.setdefault((agent, seat), Counter())[kind] += 1
        return results

    @cached_property
    def n_illegal(self) -> int:
        """Rows whose action their own mask forbids."""
        flat: Any = self.rows.column("legal_mask").combine_chunks()
        masks = flat.flatten().to_numpy(zero_copy_only=False).reshape(len(self.rows), -1)
        actions = self.rows.column("action").to_numpy()
        return int((~masks[np.arange(len(actions)), actions]).sum())


def read_columns(rows: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows.column(name).to_pylist() for name in names), strict=True)


def compare_games(ours: Way, baseline: Way) -> tuple[int, float]:
    """Return how many games went differently, and the largest difference of a logit.

    That where the same network saw the same position: before the games part.
    """
    n_different, largest = 0, 0.0
    columns = ("action", "observation", "logits")
    for number, rows in baseline.episodes.items():
        own_steps, baseline_steps = (
            list(read_columns(way, *columns)) for way in (ours.episodes[number], rows)
        )
        n_different += [action for action, *_ in own_steps] != [
            action for action, *_ in baseline_steps
        ]
        for (action, observation, logits), (other_action, other_observation, other_logits) in zip(
            own_steps, baseline_steps, strict=False
        ):
            # Once the positions differ, different logits are no wonder.
            if observation != other_observation:
                break
            if logits is not None and other_logits is not None:
                difference = np.abs(np.array(logits) - np.array(other_logits)).max()
                largest = max(largest, float(difference))
            if action != other_action:
                break
    return n_different, largest


def find_interval(n: int, of: int) -> tuple[float, float]:
    if of == 0:
        return 0.0, 1.0
    low, high = binomtest(n, of).proportion_ci(0.95)
    return float(low), float(high)


def compare_ways(ours: Way, baseline: Way, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the two ways have in common and what not."""
    n_different, difference = compare_games(ours, baseline)
    n_games = len(baseline.episodes)
    rates = [compare_win_rates(key, ours, baseline) for key in sorted(baseline.results)]
    return {
        "game": manifest["game"],
        "agents": [agent["name"] for agent in manifest["agents"]],
        "matches": n_games,
        "schema_equal": ours.rows.schema.equals(baseline.rows.schema, check_metadata=True),
        "illegal_actions_ours": ours.n_illegal + manifest["illegal_actions"],
        "illegal_actions_baseline": baseline.n_illegal,
        "forfeits": manifest["forfeits"],
        "identical_games": 1 - n_different / max(1, n_games),
        "largest_logit_difference": difference,
        "win_rates": rates,
        "win_rates_agree": all(rate["agree"] for rate in rates),
        "baseline_s": baseline.seconds,
        "baseline_steps_per_s": baseline.rows.num_rows / baseline.seconds,
        "ours_s": ours.seconds or None,
        "ours_steps_per_s": ours.rows.num_rows / ours.seconds if ours.seconds else None,
    }


def compare_win_rates(key: tuple[str, int], ours: Way, baseline: Way) -> dict[str, Any]:
    """Return how often an agent won in a seat, both ways; they agree if their intervals touch."""
    rates: dict[str, Any] = {"agent": key[0], "seat": key[1]}
    for name, way in (("ours", ours), ("baseline", baseline)):
        counts = way.results.get(key, Counter())
        n = counts.total()
        low, high = find_interval(counts["wins"], n)
        rates[name] = {**counts, "matches": n, "win_rate": counts["wins"] / max(1, n)}
        rates[name] |= {"low": low, "high": high}
    a, b = rates["ours"], rates["baseline"]
    return rates | {"agree": a["low"] <= b["high"] and b["low"] <= a["high"]}


def format_figures(figures: Mapping[str, Any]) -> str:
    rows: list[list[Cell]] = []
    for rate in figures["win_rates"]:
        ranges = (
            f"{interval['win_rate']:.3f} ({interval['low']:.3f} to {interval['high']:.3f})"
            for interval in (rate["ours"], rate["baseline"])
        )
        agree = "yes" if rate["agree"] else "NO"
        rows.append([rate["agent"], f"seat {rate['seat']}", *ranges, agree])
    facts: list[list[Cell]] = [
        ["matches", figures["matches"]],
        ["identical games", f"{100 * figures['identical_games']:.1f} %"],
        ["largest difference of a logit", f"{figures['largest_logit_difference']:.2g}"],
        ["same columns", "yes" if figures["schema_equal"] else "NO"],
        ["illegal actions, ours", figures["illegal_actions_ours"]],
        ["illegal actions, baseline", figures["illegal_actions_baseline"]],
        ["forfeits", figures["forfeits"]],
        ["baseline, steps/s", figures["baseline_steps_per_s"]],
        ["ours, steps/s", figures["ours_steps_per_s"]],
    ]
    columns = ["agent", "", "win rate, ours", "win rate, baseline", "agree"]
    return f"{format_table(columns, rows)}\n\n{format_table(['', ''], facts)}"


def format_page(figures: Mapping[str, Any]) -> str:
    title = f"# {' against '.join(figures['agents'])}: batched against batch 1\n"
    size = f"{figures['game']}, {figures['matches']} matches."
    return f"{title}\n{size}\n\n```\n{format_figures(figures)}\n```\n"


def read_plans(rows: pa.Table, n_seats: int) -> list[Plan]:
    """Return the matches of a run as they were planned, but for those that were forfeited."""
    plans = []
    for number, episode in trajectories.split_episodes(rows).items():
        # Who forfeits may have played anything up to then: the loop could not know.
        if not any(episode.column("truncated").to_pylist()):
            seats = dict(read_columns(episode, "seat", "agent"))
            agents = tuple(seats[seat] for seat in range(n_seats))
            plans.append(Plan(number, episode.column("game_seed")[0].as_py(), agents))
    return plans


@contextmanager
def generate_run(n_matches: int) -> Iterator[tuple[Path, float]]:
    """Generate a run between two example checkpoints; give its folder and the seconds it took."""
    paths = find_safetensors([EXAMPLES])
    with TemporaryDirectory(prefix="evalsite-bench-") as folder:
        out = Path(folder) / "out"
        with start_stack(Path(folder) / "var", nodes=1, slots=2, gpus=1, web=True) as stack:
            # Of one run, but apart in strength.
            for name, path in (("early", paths[len(paths) // 2]), ("late", paths[-1])):
                run_python(
                    stack, "-m", "evalsite_client", "checkpoints", "add", str(path), "--agent", name
                )
            began = perf_counter()
            # Ten workers ask one server, as the seed's ten workers had a copy each.
            pair = ("--agent-a", "late", "--agent-b", "early")
            size = ("--matches", str(n_matches), "--num-workers", str(N_WORKERS))
            command = ("-m", "evalsite_client", "generate", *pair, *size)
            run_python(stack, *command, "--out", str(out))
            seconds = perf_counter() - began
        yield out, seconds


def compare_run(folder: Path, seconds: float, checkpoints: Sequence[Path]) -> dict[str, Any]:
    """Play a generated run again in a loop at batch 1 and compare."""
    manifest = loads((folder / "manifest.json").read_text(encoding="utf-8"))
    shards = [trajectories.read_parquet(folder / shard["file"]) for shard in manifest["shards"]]
    rows = pa.concat_tables(shards)
    form = trajectories.read_spec(rows.schema)
    plans = read_plans(rows, len(manifest["agents"][0]["seats"]))
    episodes, baseline_s = Loop(manifest, checkpoints).play_all(plans)
    # Through a file, as ours went: so that the columns are compared as they are kept.
    again = folder / "baseline.parquet"
    trajectories.write_parquet(again, [trajectories.build_table(episodes, form)], form)
    baseline = Way(trajectories.read_parquet(again), baseline_s)
    again.unlink()
    return compare_ways(Way(rows, seconds), baseline, manifest)


def main(arguments: Sequence[str]) -> int:
    parser = make_parser("comparison", "Batched generation against a loop at batch 1.")
    add = parser.add_argument
    add("--run", type=Path, metavar="DIR", help="a folder that `generate` has written")
    add("--matches", type=whole_number(2), default=500, help="to generate without --run (500)")
    add("--checkpoints", type=Path, action="append", metavar="FOLDER", help="of the run's agents")
    add("--markdown", type=writable_path, metavar="FILE", help="write the report to FILE")
    options = parser.parse_args(arguments)
    checkpoints = find_safetensors(options.checkpoints or [EXAMPLES])
    if options.run is not None:
        figures = compare_run(options.run, 0.0, checkpoints)
    else:
        with generate_run(options.matches) as (folder, seconds):
            figures = compare_run(folder, seconds, checkpoints)
    write_report(format_figures(figures), figures, options.json)
    if options.markdown is not None:
        options.markdown.write_text(format_page(figures), encoding="utf-8")
    return 0
