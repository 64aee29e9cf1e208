"""One generated run in its folder: what it was asked for, its shards, going on where it stopped."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from evalsite_client.api.generations import CheckedGeneration
from evalsite_client.api.tournaments import ShardManifest, TournamentDetail
from evalsite_client.client import Client
from evalsite_client.downloads import replace_text
from evalsite_client.errors import ClientError, ConflictError, InputError
from evalsite_client.uploads import compute_sha256
from evalsite_client.waiting import Shard

RUN: Final = "run.json"
MANIFEST: Final = "manifest.json"
FORMAT: Final = "evalsite run/1"
WORKER_WAIT_S: Final = 30.0
WORKER_POLL_S: Final = 0.5
# The server counts all results for a manifest: while shards come, that is not asked at each.
COUNTS_EVERY_S: Final = 5.0


class LackingError(ClientError):
    """Something that a run needs is not there."""


class StoppedError(ClientError):
    """The matches of a run will never all be closed."""


@dataclass(frozen=True)
class Run:
    """A folder and what it is for; the server makes the key of the tournament from `key`."""

    folder: Path
    asked: Mapping[str, Any]
    key: str

    def save(self) -> None:
        """Write it down before the tournament exists, so that no second one is scheduled."""
        run = {"format": FORMAT, "asked": dict(self.asked), "key": self.key}
        replace_text(self.folder / RUN, f"{json.dumps(run, indent=2)}\n")


def open_run(folder: Path, settings: Mapping[str, Any]) -> Run:
    """Return the run of a folder, the one begun there or a new one.

    Raises InputError: not writable, not empty, or begun with other arguments.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Tried, not looked up: rights and read-only disks are told in too many ways.
        probe = folder / ".writable"
        probe.touch()
        probe.unlink()
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise InputError("out", f"cannot write {str(folder)!r}: {error.strerror}") from error
    if RUN in names:
        return _read_run(folder, settings)
    if names:
        reason = "it must be empty, or hold a run of this command"
        raise InputError("out", f"{str(folder)!r} holds {names[0]!r}: {reason}")
    return Run(folder, settings, uuid4().hex)


def _read_run(folder: Path, settings: Mapping[str, Any]) -> Run:
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
        before, key = dict(run["asked"]), str(run["key"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError("out", f"{folder / RUN} cannot be read: {error}") from error
    changed = [name for name in {**before, **settings} if before.get(name) != settings.get(name)]
    if changed:
        changes = "; ".join(f"{n} was {before.get(n)!r}, now {settings.get(n)!r}" for n in changed)
        raise InputError("out", f"{str(folder)!r} holds another run: {changes}")
    return Run(folder, settings, key)


def wait_for_workers(
    client: Client, folder: Path, body: Mapping[str, Any], checked: CheckedGeneration
) -> None:
    """Wait a little for what starts; raise LackingError naming all that is missing."""
    until_s = client.clock.monotonic() + WORKER_WAIT_S
    # What was started a moment ago may not have said so yet.
    while checked.missing and client.clock.monotonic() < until_s:
        client.clock.sleep(WORKER_POLL_S)
        checked = client.generations.check(**body)
    missing, free = [*checked.missing], shutil.disk_usage(folder).free
    if free < checked.n_bytes:
        needed = f"about {checked.n_bytes:,} bytes are needed, {free:,} are free"
        missing.append(f"room in {folder}: {needed}")
    if missing:
        raise LackingError("nothing was started, as this is missing:\n  " + "\n  ".join(missing))


def read_shards(folder: Path) -> list[Shard]:
    """Return the shards that the manifest of a folder names, none without one.

    Raises InputError for a manifest of another form.
    """
    path = folder / MANIFEST
    if not path.exists():
        return []
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        return [Shard(**shard) for shard in manifest["shards"]]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("out", f"{path} is no manifest of ours: {error}") from error


class Collection:
    """The shards of a tournament, fetched one after the other into a folder."""

    def __init__(self, client: Client, tournament: int, folder: Path, size: int) -> None:
        """size: matches of a shard. Shards of an earlier call that are still whole are kept."""
        self._client, self._tournament, self._folder, self._size = client, tournament, folder, size
        self._finished = {shard.file: shard for shard in read_shards(folder)}
        self._counts: ShardManifest | None = None
        self._counted_s = 0.0
        self.shards: list[Shard] = []
        self.is_complete = False

    @property
    def n_episodes(self) -> int:
        """Return how many matches are behind."""
        return self.shards[-1].last_episode + 1 if self.shards else 0

    def fetch_ready(self) -> TournamentDetail:
        """Fetch every shard whose matches are closed; return how far the tournament is.

        Raises ClientError, OSError.
        """
        tournament = self._client.tournaments.get(self._tournament)
        n_matches = tournament.n_matches
        while (begin := self.n_episodes) < n_matches:
            end = min(begin + self._size, n_matches)
            # Fewer are closed than a shard needs: it need not be asked for.
            if tournament.n_closed < end or not self._fetch_next(end - 1):
                break
            # Cancelled matches count as closed, but a cancelled tournament has not all it was for.
            is_whole = self.n_episodes >= n_matches
            self.is_complete = is_whole and tournament.state != "cancelled"
            self._write_manifest()
        return tournament

    def build_manifest(self) -> dict[str, Any]:
        """Return what manifest.json says."""
        assert self._counts is not None
        counts = asdict(self._counts)
        manifest: dict[str, Any] = {}
        for name, value in counts.items():
            manifest[name] = value
            if name == "illegal_actions":
                manifest["steps"] = sum(shard.rows for shard in self.shards)
        shards = [asdict(shard) for shard in self.shards]
        return manifest | {"is_complete": self.is_complete, "shards": shards}

    def _fetch_next(self, last: int) -> bool:
        """Fetch the next shard unless it is there up to this episode; say whether it is closed."""
        number = len(self.shards)
        name = f"shard-{number:05d}.parquet"
        path = self._folder / name
        # A shard of an earlier call stays if its file is still what it was. The last one ends
        # earlier than it has to where the tournament was extended since.
        shard = self._finished.get(name)
        if shard is not None and shard.last_episode != last:
            shard = None
        if shard is None or not path.is_file() or compute_sha256(path) != shard.sha256:
            try:
                shard = self._client.tournaments.download_shard(
                    self._tournament, number, path, matches_per_shard=self._size
                )
            except ConflictError:
                return False
        self.shards.append(shard)
        return True

    def _write_manifest(self) -> None:
        now_s = self._client.clock.monotonic()
        is_old = self._counts is None or now_s - self._counted_s >= COUNTS_EVERY_S
        if is_old or self.is_complete:
            self._counts = self._client.tournaments.manifest(self._tournament, self._size)
            self._counted_s = now_s
        # After each shard: what is interrupted names all that are whole.
        manifest = f"{json.dumps(self.build_manifest(), indent=2)}\n"
        replace_text(self._folder / MANIFEST, manifest)


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
            if "episodes" in counts:
                lines.append(f"  {agent['name']}: {_describe_returns(counts)}")
                continue
            results = ", ".join(f"{n} {name}" for name, n in counts.items())
            lines.append(f"  {agent['name']} at seat {seat}: {results}")
    return lines


def _describe_returns(counts: Mapping[str, Any]) -> str:
    """Return how the episodes of a game of one seat went, where there is nobody to win against."""
    parts = [f"{counts['episodes']} episodes"]
    if counts["forfeits"]:
        parts.append(f"{counts['forfeits']} of them forfeited")
    if counts["mean_return"] is not None:
        spread = counts["return_sd"]
        around = "" if spread is None else f" (standard deviation {spread:.4g})"
        parts.append(f"mean return {counts['mean_return']:.4g}{around}")
    return ", ".join(parts)
