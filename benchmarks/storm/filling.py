"""Fill the stream's memory, or the disk that a whole stack is on, for a while."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import disk_usage, which
from tempfile import TemporaryDirectory
from time import sleep

from redis import Redis
from redis.exceptions import ConnectionError

from launcher.folders import ensure_secrets
from launcher.stack import Stack

DISK_MB = 1_024
_PIECE = 1 << 20


def fill_stream(stack: Stack, seconds: float) -> bool:
    """Let the stream's server take nothing for so long; return False where it is away."""
    url = stack.plan.admin_url("stream", ensure_secrets(stack.plan.var))
    try:
        with Redis.from_url(url) as server:
            limit = server.config_get("maxmemory")["maxmemory"]
            server.config_set("maxmemory", 1)
            sleep(seconds)
            server.config_set("maxmemory", limit)
    except ConnectionError:
        return False  # a new one has its limit from the command line
    return True


def fill_disk(disk: Path, seconds: float) -> bool:
    """Leave no byte free for so long."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(_PIECE))
            if disk_usage(disk).free < _PIECE:
                file.write(bytes(disk_usage(disk).free or 1))
    sleep(seconds)
    filler.unlink()
    return True


@contextmanager
def small_disk() -> Iterator[Path | None]:
    """Have folders of the block made on a disk of its own in memory; None: without the right to."""
    with TemporaryDirectory(prefix="evalsite-disk-") as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", folder]
        if which("mount") is None or subprocess.run(command, check=False).returncode:
            yield None
            return
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            yield Path(folder)
        finally:
            tempfile.tempdir = before
            subprocess.run(["umount", "--lazy", folder], check=True)
