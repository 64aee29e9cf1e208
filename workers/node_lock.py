"""Where a node runs: on one machine no two live processes have the same name at the same broker.

A file that is locked until the process ends tells them apart, however it ends. So a node that says
it runs where its predecessor ran proves that the predecessor is dead, and need not be waited for.
"""

import fcntl
import os
import socket
import tempfile
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from workers.errors import SettingsError

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Kept open until the process ends; players do not inherit them.
_locks: list[int] = []


def lock_node_name(node: str, broker_url: str, *, folder: Path | None = None) -> str:
    """Take the name on this machine and return the name of the machine.

    Raises SettingsError when another process that is alive has the node name. Empty where the
    folder for temporary files cannot be written: then nothing is proven.
    """
    # Other brokers have nodes of the same names.
    at = urlsplit(broker_url)
    name = sha256(f"{node} {at.hostname} {at.port} {at.path}".encode()).hexdigest()[:16]
    path = (folder or Path(tempfile.gettempdir())) / f"evalsite-{os.getuid()}-{name}.lock"
    try:
        # No link is followed: the folder belongs to all users of the machine.
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return ""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        rule = "a name of its own: another node that runs on this machine is called so"
        raise SettingsError("EVALSITE_NODE", node, rule) from None
    _locks.append(lock)
    # What only processes that share this lock have in common.
    file = os.fstat(lock)
    boot = BOOT_ID.read_text() if BOOT_ID.exists() else ""
    text = f"{boot} {socket.gethostname()} {file.st_dev} {file.st_ino}"
    return sha256(text.encode()).hexdigest()[:32]
