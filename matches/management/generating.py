"""One run of `generate` in its folder: what it was asked for, and going on where it stopped."""

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.error import URLError
from urllib.request import urlopen

from matches.artifacts import manifests
from matches.artifacts.shards import Exporter
from matches.errors import BadInputError, MatchError
from matches.ledger.generation import list_missing_workers
from matches.models import Match, Tournament
from matches.store import selectors
from matches.store.clock import db_now

RUN = "run.json"
FORMAT = "evalsite run/1"
POLL_S = 0.5
LINE_EVERY_S = 5.0
NODE_WAIT_S = 30.0
NODE_POLL_S = 0.1
SITE_S = 3.0


class Stream(Protocol):
    """Where progress goes."""

    def write(self, msg: str = "") -> object:
        """Write one message."""
        ...


class LackingError(MatchError):
    """Something that a run needs is not there."""


class StoppedError(MatchError):
    """The matches of a run will never all be closed."""


@dataclass(frozen=True)
class Run:
    """A folder and what it is for; `key` is that of the tournament."""

    folder: Path
    asked: Mapping[str, Any]
    key: str

    def save(self) -> None:
        """Write it down before the tournament exists, so that no second one is scheduled."""
        text = json.dumps({"format": FORMAT, "asked": self.asked, "key": self.key}, indent=2)
        # Written whole or not at all: half of it would keep the folder from ever going on.
        draft = self.folder / f".{RUN}.part"
        draft.write_text(f"{text}\n", encoding="utf-8")
        draft.replace(self.folder / RUN)


def open_run(folder: Path, asked: Mapping[str, Any], key: str) -> Run:
    """Return the run of a folder, the one begun there or a new one.

    Raises BadInputError: not writable, not empty, or begun with other arguments.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Tried, not looked up: rights and read-only disks are told in too many ways.
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise BadInputError("out", f"cannot write {str(folder)!r}: {error.strerror}") from error
    if RUN in names:
        return _read_run(folder, asked)
    if names:
        reason = "it must be empty, or hold a run of this command"
        raise BadInputError("out", f"{str(folder)!r} holds {names[0]!r}: {reason}")
    return Run(folder, asked, key)


def _read_run(folder: Path, asked: Mapping[str, Any]) -> Run:
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
        before, key = dict(run["asked"]), str(run["key"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInputError("out", f"{folder / RUN} cannot be read: {error}") from error
    changed = [name for name in {**before, **asked} if before.get(name) != asked.get(name)]
    if changed:
        changes = "; ".join(f"{n} was {before.get(n)!r}, now {asked.get(n)!r}" for n in changed)
        raise BadInputError("out", f"{str(folder)!r} holds another run: {changes}")
    return Run(folder, asked, key)


def check_requirements(folder: Path, needs: Match.Needs, *, n_bytes: int, site_url: str) -> None:
    """Wait a little for what starts; raise LackingError naming all that is missing to generate."""
    deadline = time.monotonic() + NODE_WAIT_S
    # What was started a moment ago may not have said so yet.
    while missing := list_missing_workers(needs, now=db_now()) + _check_site(site_url):
        if time.monotonic() >= deadline:
            break
        time.sleep(NODE_POLL_S)
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        missing.append(f"room in {folder}: about {n_bytes:,} bytes are needed, {free:,} are free")
    if missing:
        raise LackingError("nothing was started, as this is missing:\n  " + "\n  ".join(missing))


def _check_site(url: str) -> list[str]:
    try:
        with urlopen(f"{url}/healthz", timeout=SITE_S):
            return []
    except (URLError, OSError) as error:
        where = "start it with ./run, or say with EVALSITE_SITE_URL where it is"
        return [f"the web server at {url}, which takes the trajectories ({error}): {where}"]


def collect_shards(
    exporter: Exporter,
    tournament: Tournament,
    folder: Path,
    out: Stream,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Write shards as their matches are closed, until all are. Raises ExportError, StoppedError."""
    shown_at, line = clock() - LINE_EVERY_S, ""
    while True:
        tournament.refresh_from_db()
        # A manifest after each shard: what is interrupted names all that are whole.
        while exporter.write_next_shard():
            manifests.write_manifest(exporter, tournament, folder)
        if exporter.is_complete:
            break
        # Those closed before it was cancelled are in the shards by now.
        if tournament.state == Tournament.State.CANCELLED:
            why = tournament.problem or "somebody cancelled it"
            raise StoppedError(f"tournament {tournament.pk} was cancelled: {why}")
        if (
            clock() - shown_at >= LINE_EVERY_S
            and (now := _describe_progress(exporter, tournament)) != line
        ):
            shown_at, line = clock(), now
            out.write(line)
        sleep(POLL_S)
    tournament.refresh_from_db()
    manifests.write_manifest(exporter, tournament, folder)
    out.write(_describe_progress(exporter, tournament))


def _describe_progress(exporter: Exporter, tournament: Tournament) -> str:
    now = db_now()
    elapsed_s = selectors.compute_elapsed_s(tournament, now=now)
    progress = selectors.read_progress(tournament).line(elapsed_s)
    waits = selectors.describe_missing(tournament, now=now) if not exporter.is_complete else ""
    written = f"{len(exporter.shards)} shard(s) with {exporter.n_episodes} episodes"
    return f"{progress}, {written}" + (f"; waits for {waits}" if waits else "")


def summarise(manifest: Mapping[str, Any], *, elapsed_s: float) -> Sequence[str]:
    """Return what was generated, as lines for a person."""
    rate = f"{manifest['steps'] / elapsed_s:,.0f} steps/s" if elapsed_s > 0 else "no time"
    lines = [
        f"{manifest['matches']} matches, {manifest['steps']} steps ({rate}), "
        f"{manifest['forfeits']} forfeits, {manifest['illegal_actions']} illegal actions, "
        f"{manifest['matches_without_outcome']} without an outcome"
    ]
    for agent in manifest["agents"]:
        for seat, counts in agent["seats"].items():
            results = ", ".join(f"{n} {name}" for name, n in counts.items())
            lines.append(f"  {agent['name']} at seat {seat}: {results}")
    return lines
