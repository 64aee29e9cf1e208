"""Files of forms that were refused: kept for an hour, as no browser fills in a file again."""

import secrets
import time
from pathlib import Path
from shutil import copyfile
from typing import Final, NamedTuple

from django.conf import settings
from django.core import signing

HOUR_S: Final = 3_600
_SALT: Final = "kept upload"


class KeptUpload(NamedTuple):
    """A file that was sent before, and the name that it had there."""

    path: Path
    name: str


def keep_upload(path: Path, name: str, *, user_id: int) -> str:
    """Return the token by which the same user finds the file again; older ones of theirs go."""
    outdated_s = time.time() - HOUR_S
    for old in _folder().iterdir():
        # Those of others, too, once no token leads to them: who gave up does not come back.
        if old.name.startswith(f"{user_id}-") or old.stat().st_mtime < outdated_s:
            old.unlink(missing_ok=True)
    place = f"{user_id}-{secrets.token_hex(8)}"
    copyfile(path, _folder() / place)
    return signing.dumps([place, name], salt=_SALT)


def find_kept(token: str, *, user_id: int) -> KeptUpload | None:
    """Return the file of a token; None when it is too old, of somebody else or not there."""
    try:
        place, name = signing.loads(token, salt=_SALT, max_age=HOUR_S)
    except signing.BadSignature:
        return None
    path = _folder() / place
    return KeptUpload(path, name) if place.startswith(f"{user_id}-") and path.is_file() else None


def forget_kept(upload: KeptUpload) -> None:
    """Delete a file that has been taken over."""
    upload.path.unlink(missing_ok=True)


def _folder() -> Path:
    folder = Path(settings.VAR) / "kept-uploads"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
