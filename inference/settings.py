"""Settings of inference, read from the environment once; a wrong one stops the start."""

import os
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arena.credentials import NAME_RULE, is_node_name
from arena.machine import LabelError, read_machine_labels
from arena.parameters import parse_number
from inference.errors import SettingsError

# Celery takes the broker by host and port, never as a socket.
BROKER_SCHEMES = ("redis://", "rediss://")
FAST_SCHEMES = (*BROKER_SCHEMES, "unix://")
DEVICES = ("auto", "cpu", "cuda")
PRECISIONS = ("float32", "float16", "bfloat16")
COMPILES = ("none", "compile", "graphs")
MAX_NAME = 200
MAX_NODE = 60
MAX_SHARDS = 1024

DEFAULT_CACHE = Path(tempfile.gettempdir()) / f"evalsite-cache-{os.getuid()}"


@dataclass(frozen=True)
class Settings:
    """Settings that clients and gpu workers share; the defaults suit one laptop.

    redis_url: the broker; fast_url: the fast store, in a player as a user with few rights; both
    empty where only local inference is used.
    """

    redis_url: str = ""
    fast_url: str = ""
    site_url: str = ""
    cache: Path = DEFAULT_CACHE
    gpu: str = "gpu"
    # Proves to the recorder that a sign of life is of a gpu worker.
    key: str = field(default="", repr=False)
    # Of a client: where its answers go; its user of the fast store may take no others.
    node: str = "local"
    n_shards: int = 1
    serves: tuple[int, ...] = (0,)
    # Rows that one batch takes.
    max_batch_size: int = 1024
    # How long a batch that is not full waits for more; 0: it runs when the network is free.
    max_wait_ms: int = 0
    retry_after_ms: int = 2_000
    deadline_ms: int = 60_000
    # How long a drainer waits for more before it gives its lease up.
    linger_ms: int = 200
    slice_ms: int = 1_000
    lease_ms: int = 3_000
    # Requests that wait per shard.
    queue_limit: int = 4_096
    # Per shard; a second one starts only when more waits than the first can take.
    max_drainers: int = 8
    device: str = "auto"
    # Cores of one forward on a CPU.
    threads: int = 1
    precision: str = "float32"
    compile: str = "none"
    is_deterministic: bool = True
    # Models on the device.
    cache_mb: int = 2_048
    metrics_host: str = "127.0.0.1"
    # For Prometheus; 0: none is opened.
    metrics_port: int = 0
    alive_s: int = 10
    # What its operator says of the machine.
    labels: Mapping[str, str] = field(default_factory=dict)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings. Raises SettingsError naming variable, value and what would do."""
    n_shards = _read_whole_number(
        environ, "EVALSITE_SHARDS", Settings.n_shards, low=1, high=MAX_SHARDS
    )
    return Settings(
        redis_url=_read_url(environ, "REDIS_URL", BROKER_SCHEMES),
        fast_url=_read_url(environ, "FAST_REDIS_URL", FAST_SCHEMES)
        or _read_url(environ, "EVALSITE_INFERENCE_URL", FAST_SCHEMES),
        site_url=_read_site_url(environ),
        cache=Path(environ.get("EVALSITE_CACHE") or DEFAULT_CACHE),
        key=environ.get("EVALSITE_NODE_KEY", ""),
        gpu=_read_name(environ, "EVALSITE_GPU", default=f"gpu@{socket.gethostname()}"),
        node=_read_node(environ),
        n_shards=n_shards,
        serves=_read_shards(environ, "EVALSITE_SERVES", n_shards=n_shards),
        max_batch_size=_read_whole_number(
            environ, "EVALSITE_MAX_BATCH_SIZE", 1_024, low=1, high=1 << 20
        ),
        max_wait_ms=_read_whole_number(environ, "EVALSITE_MAX_WAIT_MS", 0, low=0, high=60_000),
        retry_after_ms=_read_milliseconds(
            environ, "EVALSITE_RETRY_AFTER_MS", Settings.retry_after_ms
        ),
        deadline_ms=_read_milliseconds(environ, "EVALSITE_DEADLINE_MS", Settings.deadline_ms),
        linger_ms=_read_milliseconds(environ, "EVALSITE_LINGER_MS", Settings.linger_ms),
        slice_ms=_read_milliseconds(environ, "EVALSITE_SLICE_MS", Settings.slice_ms),
        lease_ms=_read_milliseconds(environ, "EVALSITE_LEASE_MS", Settings.lease_ms),
        queue_limit=_read_whole_number(environ, "EVALSITE_QUEUE_LIMIT", 4_096, low=1, high=1 << 20),
        max_drainers=_read_whole_number(environ, "EVALSITE_MAX_DRAINERS", 8, low=1, high=1_024),
        device=_read_choice(environ, "EVALSITE_DEVICE", DEVICES),
        threads=_read_whole_number(
            environ, "EVALSITE_THREADS", Settings.threads, low=1, high=1_024
        ),
        precision=_read_choice(environ, "EVALSITE_PRECISION", PRECISIONS),
        compile=_read_choice(environ, "EVALSITE_COMPILE", COMPILES),
        is_deterministic=_read_choice(environ, "EVALSITE_DETERMINISTIC", ("1", "0")) == "1",
        cache_mb=_read_whole_number(
            environ, "EVALSITE_CACHE_MB", Settings.cache_mb, low=1, high=1 << 24
        ),
        metrics_host=_read_name(environ, "EVALSITE_METRICS_HOST", default=Settings.metrics_host),
        metrics_port=_read_whole_number(environ, "EVALSITE_METRICS_PORT", 0, low=0, high=65_535),
        alive_s=_read_whole_number(
            environ, "EVALSITE_ALIVE_S", Settings.alive_s, low=1, high=3_600
        ),
        labels=_read_labels(environ),
    )


def read_worker_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings of a gpu worker, which needs both servers. Raises SettingsError."""
    settings = read_settings(environ)
    for name, url, schemes in (
        ("REDIS_URL", settings.redis_url, BROKER_SCHEMES),
        ("FAST_REDIS_URL", settings.fast_url, FAST_SCHEMES),
    ):
        if not url:
            raise SettingsError(name, url, f"an address, {' or '.join(schemes)}")
    if not settings.key:
        rule = "the key of the reports of gpu workers, see docs/operating.md"
        raise SettingsError("EVALSITE_NODE_KEY", "", rule)
    return settings


def _read_url(environ: Mapping[str, str], name: str, schemes: tuple[str, ...]) -> str:
    url = environ.get(name, "")
    if url and not url.startswith(schemes):
        # The address may hold a password: only its scheme is shown.
        scheme = url.split("//")[0] + "//..." if "//" in url else url
        raise SettingsError(name, scheme, f"an address, {' or '.join(schemes)}")
    return url


def _read_site_url(environ: Mapping[str, str]) -> str:
    url = environ.get("EVALSITE_SITE_URL", "")
    if url and not url.startswith(("http://", "https://")):
        raise SettingsError("EVALSITE_SITE_URL", url, "the web server, http://... or https://...")
    return url.rstrip("/")


def _read_name(environ: Mapping[str, str], name: str, *, default: str) -> str:
    value = environ.get(name) or default
    if not value.isprintable() or len(value) > MAX_NAME:
        raise SettingsError(name, value, f"1 to {MAX_NAME} printable characters")
    return value


def _read_node(environ: Mapping[str, str]) -> str:
    value = environ.get("EVALSITE_NODE") or socket.gethostname()[:MAX_NODE]
    if not is_node_name(value):
        raise SettingsError("EVALSITE_NODE", value, NAME_RULE)
    return value


def _read_whole_number(
    environ: Mapping[str, str], name: str, default: int, *, low: int, high: int
) -> int:
    raw = environ.get(name) or str(default)
    if (number := parse_number(raw, lowest=low, highest=high)) is None:
        raise SettingsError(name, raw, f"a whole number, {low}..{high}")
    return number


def _read_milliseconds(environ: Mapping[str, str], name: str, default: int) -> int:
    return _read_whole_number(environ, name, default, low=1, high=3_600_000)


def _read_shards(environ: Mapping[str, str], name: str, *, n_shards: int) -> tuple[int, ...]:
    raw = environ.get(name, "")
    if not raw:
        return tuple(range(n_shards))
    parts = [part.strip() for part in raw.split(",")]
    if not all(part.isdecimal() and int(part) < n_shards for part in parts):
        raise SettingsError(name, raw, f"numbers of shards below {n_shards}, as in 0,1")
    return tuple(sorted({int(part) for part in parts}))


def _read_labels(environ: Mapping[str, str]) -> dict[str, str]:
    try:
        return read_machine_labels(environ)
    except LabelError as error:
        raise SettingsError(error.variable, error.label, error.rule) from None


def _read_choice(environ: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    raw = environ.get(name) or choices[0]
    if raw not in choices:
        raise SettingsError(name, raw, f"one of {', '.join(choices)}")
    return raw
