"""The data folder: where it is, that it can be written, its files that only the owner reads."""

import errno
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from launcher.errors import SetupError

ROOT = Path(__file__).resolve().parent.parent
SECRETS = ("EVALSITE_SECRET_KEY", "EVALSITE_FLOWER_PASSWORD")
NODES = "nodes.env"
# Marks every process of a stack with its data folder, so that leftovers can be told from strangers.
MARK = "EVALSITE_STACK"
# A Unix socket's address holds about 104 characters on the strictest system.
LONGEST_SOCKET = 100
# What a start reads, and what it goes on with: files that an earlier stack has left.
_READ = ("*.env",)
_WRITTEN = (
    *("log", "log/*.log", "log/*.out", "broker", "broker/*", "broker/*/*", "fast", "cache"),
    *("stream", "stream/*", "stream/*/*", "checkpoints", "trajectories", "experience"),
    *("training", "static_collected", "flower.db*"),
)
_DATABASE = ("db.sqlite3", "db.sqlite3-*")
N_NAMED = 5
# At most: options and users of the servers, and logs; the database tells of itself.
WRITTEN_AT_START = 2**20


def var_folder(environment: Mapping[str, str]) -> Path:
    """Return the data folder that the environment names, by default `var` beside the code."""
    folder = environment.get("EVALSITE_VAR") or ROOT / "var"
    try:
        return Path(folder).expanduser().resolve()
    except RuntimeError as error:  # ~name of nobody
        raise SetupError(f"EVALSITE_VAR is {str(folder)!r}: {error}") from error


def require_writable(var: Path) -> None:
    """Create the data folder where needed; SetupError when it cannot be used."""
    try:
        var.mkdir(mode=0o700, parents=True, exist_ok=True)
        (var / "log").mkdir(exist_ok=True)
        _try_writing(var / ".writable")
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise SetupError(
            f"the data folder {var} cannot be written ({error.strerror}): "
            f"{'free some room' if is_full else 'change its rights'}, "
            "or name another with EVALSITE_VAR"
        ) from error
    if len(str(socket_path(var))) > LONGEST_SOCKET:
        raise SetupError(f"the data folder {var} has too long a name for a socket inside it")


def _try_writing(probe: Path) -> None:
    """Write what a start writes, and delete it. Raises OSError."""
    # Not read from the rights: the file system may be read-only, or full.
    try:
        probe.write_bytes(bytes(WRITTEN_AT_START))
    finally:
        probe.unlink(missing_ok=True)


def require_rights(var: Path, *, has_database: bool) -> None:
    """Raise SetupError that names what an earlier stack has left and this one has no right to.

    has_database: whether ours is here. Unnamed they end programs one by one, each in its own log.
    """
    read, written = os.R_OK, os.R_OK | os.W_OK
    patterns = {**dict.fromkeys(_READ, read), **dict.fromkeys(_WRITTEN, written)}
    if has_database:
        patterns |= dict.fromkeys(_DATABASE, written)
    refused = sorted(
        str(path.relative_to(var))
        for pattern, rights in patterns.items()
        for path in var.glob(pattern)
        # Not a link to what is gone, nor what lies in a folder that is refused itself.
        if os.access(path, os.F_OK)
        and not os.access(path, rights | os.X_OK if path.is_dir() else rights)
    )
    if refused:
        more = f" and {len(refused) - N_NAMED} more" if len(refused) > N_NAMED else ""
        raise SetupError(
            f"no right to read or write {', '.join(refused[:N_NAMED])}{more} in the data folder "
            f"{var}: change their rights, or their owner if another user has started it before"
        )


def socket_path(var: Path) -> Path:
    """Return where the supervisor of this folder listens."""
    return var / "supervisor.sock"


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read."""
    # Renaming is whole or not at all: nobody reads half a file.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


def read_variables(path: Path) -> dict[str, str]:
    """Return the variables of an env file, none when it is missing."""
    if not path.is_file():
        return {}
    lines = path.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def write_variables(path: Path, variables: Mapping[str, str]) -> None:
    """Write variables as an env file that only its owner may read."""
    for name, value in variables.items():
        if "\n" in value:
            raise SetupError(f"{name} may not hold a new line")
    write_private(path, "".join(f"{name}={value}\n" for name, value in sorted(variables.items())))


def ensure_secrets(var: Path) -> dict[str, str]:
    """Return the secrets of this folder; those that are missing are made once."""
    path = var / "secrets.env"
    before = read_variables(path)
    # 64 characters: Django wants 50 for its key.
    missing = {name: secrets.token_urlsafe(48) for name in SECRETS if name not in before}
    if missing:
        write_variables(path, before | missing)
    return before | missing


def write_generations(var: Path, generations: Mapping[str, int]) -> None:
    """Tell the launcher, which reads no database, the generation of each node's secrets."""
    write_variables(var / NODES, {name: str(number) for name, number in generations.items()})


def read_generations(var: Path) -> dict[str, int]:
    """Return of which generation each node's secrets are, as the last set-up left it."""
    return {name: int(number) for name, number in read_variables(var / NODES).items()}
