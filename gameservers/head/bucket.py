"""The checkpoints of a folder, CHECKPOINT_BUCKET: sealed files that callers ask by their names.

Looked at again and again, as `evalsite watch` does with the folder of a training run: what is new
and whole is loaded, what is gone is forgotten.
"""

import asyncio
import logging
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from arena.checkpoints import Seal, hash_file, inspect_file
from arena.errors import CheckpointFileError
from gameservers.errors import GameServerError
from gameservers.head.blocks import Form
from gameservers.head.evaluating import Player
from gameservers.head.networks import Networks
from inference.client import CheckpointRef, InferenceError

log = logging.getLogger(__name__)

BUCKET = "CHECKPOINT_BUCKET"
EVERY_S = 15.0
SUFFIX = ".safetensors"
# Files that other programs would unpickle: nothing of them is ever read.
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib")
# A file that has not changed for so long is whole.
WRITTEN_FOR_S = 2.0
LOCAL = "local"


class BucketError(GameServerError):
    """A folder of checkpoints that cannot be used; the message names the file and what to do."""


@dataclass
class Bucket:
    """What lies in the folder: who can be asked, and why other files cannot."""

    folder: Path
    cache: Path
    players: dict[str, Player] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    _seen: dict[Path, tuple[int, int]] = field(default_factory=dict)

    async def look(self, networks: Networks, *, now: Callable[[], float] = time.time) -> None:
        """Load what is new, forget what is gone."""
        files = sorted(self.folder.glob(f"*{SUFFIX}")) if self.folder.is_dir() else []
        for path in self._seen.keys() - set(files):
            del self._seen[path]
            self.players.pop(path.stem, None)
            self.problems.pop(path.name, None)
        for path in files:
            status = path.stat()
            version = (status.st_mtime_ns, status.st_size)
            if self._seen.get(path) == version or now() - status.st_mtime < WRITTEN_FOR_S:
                continue
            self._seen[path] = version
            await self._load_checkpoint(path, networks)

    async def _load_checkpoint(self, path: Path, networks: Networks) -> None:
        self.players.pop(path.stem, None)
        self.problems.pop(path.name, None)
        try:
            # Hashing a large file takes a second, in which nobody else would be answered.
            player = await asyncio.to_thread(adopt_file, path, self.cache)
            await _try_player(player, networks)
        except (BucketError, InferenceError, OSError) as error:
            self.problems[path.name] = str(error)
            log.warning("%s cannot be asked: %s", path, error)
        else:
            self.players[path.stem] = player
            log.info("%s can be asked as %s", path, path.stem)


def open_bucket(text: str, cache: Path) -> Bucket:
    """Return the folder of a setting. Raises BucketError for one that holds nothing to ask."""
    if "://" in text:
        raise BucketError(
            f"{BUCKET} is {text!r:.200}: must be a folder. Mount the bucket (SkyPilot: file_mounts "
            "with mode MOUNT; else gcsfuse or mountpoint-s3) and name where it is mounted"
        )
    folder = Path(text)
    if not folder.is_dir():
        raise BucketError(f"{BUCKET} is {text!r:.200}: there is no such folder")
    names = sorted(path.name for path in folder.iterdir())
    for name in names:
        if name.endswith(PICKLES):
            raise BucketError(
                f"{BUCKET}: {folder / name} may be a pickle, which runs code when it is read: "
                "`evalsite checkpoints convert` makes a sealed file of it, then move it away"
            )
    if not any(name.endswith(SUFFIX) for name in names):
        converts = "`evalsite checkpoints convert` makes such files"
        raise BucketError(f"{BUCKET}: {folder} holds no *{SUFFIX}: {converts}")
    for name in names:
        if name.endswith(SUFFIX):
            read_seal(folder / name)
    return Bucket(folder, cache)


def read_seal(path: Path) -> Seal:
    """Return what a file is, from its header alone. Raises BucketError."""
    try:
        seal = inspect_file(path).seal
    except CheckpointFileError as error:
        raise BucketError(f"{BUCKET}: {path}: {error}: remove it or convert it anew") from error
    if seal is None:
        says = "`evalsite checkpoints convert` says in it what network it is"
        raise BucketError(f"{BUCKET}: {path} is not sealed: {says}")
    return seal


def adopt_file(path: Path, cache: Path) -> Player:
    """Put a file where networks are read from, under its hash. Raises BucketError, OSError."""
    seal, digest = read_seal(path), hash_file(path)
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"{digest}{SUFFIX}"
    if not target.exists():
        draft = target.with_name(f".adopt-{os.getpid()}-{target.name}")
        shutil.copyfile(path, draft)
        draft.replace(target)
    ref = CheckpointRef(digest, f"/files/checkpoints/{digest}")
    return Player(path.stem, ref, LOCAL, Form(seal.observation_shape, seal.n_actions))


async def _try_player(player: Player, networks: Networks) -> None:
    """Have the network answer once. Raises InferenceError for one that cannot."""
    zeros = np.zeros((1, *player.form.observation_shape), np.float32)
    await networks.ask(player.placement, player.ref, zeros, np.zeros((1, 0), np.float32))
