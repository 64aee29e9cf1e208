"""Files that commands write: whole or not at all, also when the command is stopped."""

import os
import tempfile
from pathlib import Path
from typing import Any

from evalsite_client.cli.show import as_json


def save_json(path: Path | None, shown: Any) -> None:
    """Write JSON to a file, if one was named."""
    save_text(path, as_json(shown))


def save_text(path: Path | None, text: str) -> None:
    """Write a text to a file, if one was named; who reads it sees the old one or the new one."""
    if path is not None:
        save_bytes(path, f"{text}\n".encode())


def save_bytes(path: Path, content: bytes, *, replaces: bool = True) -> None:
    """Write a file whole or not at all; who reads it sees the old one or the new one.

    replaces: False: raises FileExistsError where there is one, also one that has come meanwhile.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)  # root may put a file in the place of a device or a pipe
        return
    target = path.resolve()  # a link stays a link
    descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            # Else a power cut could leave the new name without its content.
            file.flush()
            os.fsync(file.fileno())
        Path(draft).chmod(_choose_mode(target))
        if replaces:
            Path(draft).replace(target)
        else:
            target.hardlink_to(draft)
            Path(draft).unlink()
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _choose_mode(target: Path) -> int:
    """Return the mode of the file as it was, or of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
