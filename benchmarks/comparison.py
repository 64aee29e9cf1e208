"""Compare what is generated in batches with one network in a loop at batch 1.

./run bench comparison [--run DIR] [--matches N] [--json FILE] [--markdown FILE]

Without --run it generates a run itself, on a private stack, between two of the example checkpoints.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from json import loads
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.stats import beta

from arena import trajectories
from arena.trajectories import TrajectorySpec
from benchmarks.baseline import Loop, Plan, play, safetensors_in
from benchmarks.options import parser, whole, writable, write_json
from benchmarks.table import Cell, table
from launcher.folders import ROOT
from launcher.stack import start_stack

EXAMPLES = ROOT / "examples" / "connect_four" / "checkpoints"
N_WORKERS = 10
LAST_BITS = 1e-3
"""Logits that differ by less are those of the same network in another batch."""
CONFIDENCE = 0.95
_PAIR = 2


@dataclass(frozen=True)
class Way:
    """The trajectories of one way of playing: rows, and results by agent and seat."""

    rows: pa.Table
    seconds: float

    @cached_property
    def episodes(self) -> dict[int, pa.Table]:
        """Rows by episode."""
        return trajectories.split_episodes(self.rows)

    @cached_property
    def results(self) -> dict[tuple[str, int], Counter[str]]:
        """How often each agent won, drew and lost, by seat."""
        found: dict[tuple[str, int], Counter[str]] = {}
        ended = self.rows.filter(self.rows.column("terminated"))
        for agent, seat, reward in zip(
            *(ended.column(name).to_pylist() for name in ("agent", "seat", "reward")), strict=True
        ):
            kind = "wins" if reward > 0 else "losses" if reward < 0 else "draws"
            found.setdefault((agent, seat), Counter())[kind] += 1
        return found

    @cached_property
    def n_illegal(self) -> int:
        """Rows whose action their own mask forbids."""
        masks = _matrix(self.rows, "legal_mask")
        actions = self.rows.column("action").to_numpy()
        return int((~masks[np.arange(len(actions)), actions]).sum())


@dataclass(frozen=True)
class Parting:
    """Where the games of one episode part.

    gap: between the logits of the two actions; difference: of a logit between the two ways.
    """

    episode: int
    step: int
    gap: float | None
    difference: float | None
    is_same_position: bool

    @property
    def reason(self) -> str:
        """Why they part."""
        if not self.is_same_position:
            return "another position"
        if self.difference is None:
            return "no network decided"
        return "the last bits of logits" if self.difference < LAST_BITS else "other logits"


def interval(n: int, of: int) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share, at 95 %."""
    if of == 0:
        return 0.0, 1.0
    tail = (1 - CONFIDENCE) / 2
    low = 0.0 if n == 0 else float(beta.ppf(tail, n, of - n + 1))
    high = 1.0 if n == of else float(beta.ppf(1 - tail, n + 1, of - n))
    return low, high


def partings(ours: Way, theirs: Way) -> list[Parting]:
    """Return the episodes that were played differently."""
    found = [_parting(n, ours.episodes[n], rows) for n, rows in theirs.episodes.items()]
    return [parting for parting in found if parting is not None]


def _parting(number: int, ours: pa.Table, theirs: pa.Table) -> Parting | None:
    a, b = (rows.column("action").to_numpy() for rows in (ours, theirs))
    n_common = min(len(a), len(b))
    apart = np.flatnonzero(a[:n_common] != b[:n_common])
    if not len(apart):
        return None if len(a) == len(b) else Parting(number, n_common, None, None, False)
    step = int(apart[0])
    one, other = ours.slice(step, 1), theirs.slice(step, 1)
    is_same = one.column("observation").equals(other.column("observation"))
    said, again = (rows.column("logits").to_pylist()[0] for rows in (one, other))
    if said is None or again is None:
        return Parting(number, step, None, None, is_same)
    gap = abs(said[int(a[step])] - said[int(b[step])])
    difference = float(np.abs(np.array(said) - np.array(again)).max())
    return Parting(number, step, gap, difference, is_same)


def logit_difference(ours: Way, theirs: Way) -> float:
    """Return the largest difference of a logit where the same network saw the same position."""
    largest = 0.0
    for number, rows in theirs.episodes.items():
        largest = max([largest, *_differences(ours.episodes[number], rows)])
    return largest


def _differences(ours: pa.Table, theirs: pa.Table) -> Iterator[float]:
    n_common = min(len(ours), len(theirs))
    pairs = (rows.slice(0, n_common).column("logits").to_pylist() for rows in (ours, theirs))
    seen = (rows.slice(0, n_common).column("observation").to_pylist() for rows in (ours, theirs))
    for a, b, x, y in zip(*pairs, *seen, strict=True):
        if x != y:
            return
        if a is not None and b is not None:
            yield float(np.abs(np.array(a) - np.array(b)).max())


def _matrix(rows: pa.Table, name: str) -> Any:
    flat: Any = rows.column(name).combine_chunks()
    return flat.flatten().to_numpy(zero_copy_only=False).reshape(len(rows), -1)


def compared(ours: Way, theirs: Way, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the two ways have in common and what not."""
    apart = partings(ours, theirs)
    n_games = len(theirs.episodes)
    rates = [_rates(key, ours, theirs) for key in sorted(theirs.results)]
    return {
        "game": manifest["game"],
        "agents": [agent["name"] for agent in manifest["agents"]],
        "matches": n_games,
        "schema_equal": ours.rows.schema.equals(theirs.rows.schema, check_metadata=True),
        "illegal_actions_ours": ours.n_illegal + manifest["illegal_actions"],
        "illegal_actions_baseline": theirs.n_illegal,
        "forfeits": manifest["forfeits"],
        "identical_games": 1 - len(apart) / max(1, n_games),
        "partings": dict(Counter(parting.reason for parting in apart)),
        "largest_gap_at_a_parting": max((p.gap for p in apart if p.gap is not None), default=0.0),
        "largest_logit_difference": logit_difference(ours, theirs),
        "win_rates": rates,
        "win_rates_agree": all(rate["agree"] for rate in rates),
        "baseline_s": theirs.seconds,
        "baseline_steps_per_s": theirs.rows.num_rows / theirs.seconds,
        "ours_s": ours.seconds or None,
        "ours_steps_per_s": ours.rows.num_rows / ours.seconds if ours.seconds else None,
    }


def _rates(key: tuple[str, int], ours: Way, theirs: Way) -> dict[str, Any]:
    agent, seat = key
    said: dict[str, Any] = {"agent": agent, "seat": seat}
    for name, way in (("ours", ours), ("baseline", theirs)):
        counts = way.results.get(key, Counter())
        n = counts.total()
        low, high = interval(counts["wins"], n)
        said[name] = {**counts, "matches": n, "win_rate": counts["wins"] / max(1, n)}
        said[name] |= {"low": low, "high": high}
    a, b = said["ours"], said["baseline"]
    return said | {"agree": a["low"] <= b["high"] and b["low"] <= a["high"]}


def shown(figures: Mapping[str, Any]) -> str:
    """Return the figures as tables for a terminal."""
    rows: list[list[Cell]] = [
        [
            *(rate["agent"], f"seat {rate['seat']}"),
            *(_range(rate[way]) for way in ("ours", "baseline")),
            "yes" if rate["agree"] else "NO",
        ]
        for rate in figures["win_rates"]
    ]
    why = ", ".join(f"{n} {reason}" for reason, n in figures["partings"].items()) or "none"
    ours_s = figures["ours_s"]
    facts: list[list[Cell]] = [
        ["matches", figures["matches"]],
        ["identical games", f"{100 * figures['identical_games']:.1f} %"],
        ["games that part", why],
        ["largest difference of a logit", f"{figures['largest_logit_difference']:.2g}"],
        ["same columns", "yes" if figures["schema_equal"] else "NO"],
        ["illegal actions, ours", figures["illegal_actions_ours"]],
        ["illegal actions, baseline", figures["illegal_actions_baseline"]],
        ["forfeits", figures["forfeits"]],
        ["baseline, steps/s", figures["baseline_steps_per_s"]],
        ["ours, steps/s", figures["ours_steps_per_s"] if ours_s else None],
    ]
    columns = ["agent", "", "win rate, ours", "win rate, baseline", "agree"]
    return f"{table(columns, rows)}\n\n{table(['', ''], facts)}"


def _range(said: Mapping[str, Any]) -> str:
    return f"{said['win_rate']:.3f} ({said['low']:.3f} to {said['high']:.3f})"


def markdown(figures: Mapping[str, Any]) -> str:
    """Return the figures as a page."""
    agents = " against ".join(figures["agents"])
    title = f"# {agents}: batched against batch 1\n"
    return (
        f"{title}\n{figures['game']}, {figures['matches']} matches.\n\n```\n{shown(figures)}\n```\n"
    )


def read_run(folder: Path) -> tuple[dict[str, Any], pa.Table]:
    """Return manifest and rows of a generated run."""
    manifest = loads((folder / "manifest.json").read_text(encoding="utf-8"))
    files = [folder / shard["file"] for shard in manifest["shards"]]
    return manifest, pa.concat_tables([trajectories.read_parquet(path) for path in files])


def plans_of(rows: pa.Table, n_seats: int) -> list[Plan]:
    """Return the matches of a run as they were planned, but for those that were forfeited."""
    plans = []
    for number, episode in trajectories.split_episodes(rows).items():
        if any(episode.column("truncated").to_pylist()):
            continue
        seats, agents, seeds = (
            episode.column(name).to_numpy().tolist() for name in ("seat", "agent", "game_seed")
        )
        names, seed = dict(zip(seats, agents, strict=True)), seeds[0]
        plans.append(Plan(number, seed, tuple(names[seat] for seat in range(n_seats))))
    return plans


@contextmanager
def generated(n_matches: int) -> Iterator[tuple[Path, float]]:
    """Generate a run between two example checkpoints; give its folder and the seconds it took."""
    paths = sorted(EXAMPLES.glob("*.safetensors"))
    first, last = paths[len(paths) // _PAIR], paths[-1]
    with tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder:
        out = Path(folder) / "out"
        with start_stack(Path(folder) / "var", nodes=1, slots=2, gpus=1, web=True) as stack:
            for name, path in (("early", first), ("late", last)):
                _manage(stack.env, "checkpoints", "add", str(path), "--agent", name)
            began = perf_counter()
            pair = ("--agent-a", "late", "--agent-b", "early")
            size = ("--matches", str(n_matches), "--num-workers", str(N_WORKERS))
            _manage(stack.env, "generate", *pair, *size, "--out", str(out))
            seconds = perf_counter() - began
        yield out, seconds


def _manage(environment: Mapping[str, str], *arguments: str) -> None:
    command = [sys.executable, "manage.py", *arguments]
    subprocess.run(command, cwd=ROOT, env=dict(environment), check=True)


def compare(folder: Path, seconds: float, checkpoints: Sequence[Path]) -> dict[str, Any]:
    """Play a run again in a loop at batch 1 and compare."""
    manifest, rows = read_run(folder)
    form: TrajectorySpec = trajectories.read_spec(rows.schema)
    plans = plans_of(rows, len(manifest["agents"][0]["seats"]))
    played = play(Loop(manifest, checkpoints), plans)
    again = Path(folder) / "baseline.parquet"
    trajectories.write_parquet(again, [trajectories.build_table(played.episodes, form)], form)
    theirs = Way(trajectories.read_parquet(again), played.seconds)
    again.unlink()
    return compared(Way(rows, seconds), theirs, manifest)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, print the tables, write the figures; return the exit status."""
    options_parser = parser("comparison", "Batched generation against a loop at batch 1.")
    add = options_parser.add_argument
    add("--run", type=Path, metavar="DIR", help="a folder that `generate` has written")
    add("--matches", type=whole(2), default=500, help="to generate without --run (500)")
    add("--checkpoints", type=Path, action="append", metavar="FOLDER", help="of the run's agents")
    add("--markdown", type=writable, metavar="FILE", help="write the report to FILE")
    options = options_parser.parse_args(arguments)
    checkpoints = safetensors_in(options.checkpoints or [EXAMPLES])
    if options.run is not None:
        figures = compare(options.run, 0.0, checkpoints)
    else:
        with generated(options.matches) as (folder, seconds):
            figures = compare(folder, seconds, checkpoints)
    print(shown(figures))
    write_json(options.json, figures)
    if options.markdown is not None:
        options.markdown.write_text(markdown(figures), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
