"""Settings of a trainer, read from the environment once; a wrong one stops the start."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import NamedTuple

from training.errors import SettingsError

# Celery takes the broker by host and port, never as a socket.
BROKER_SCHEMES = ("redis://", "rediss://")
STREAM_SCHEMES = (*BROKER_SCHEMES, "unix://")
MAX_NAME = 60


class Settings(NamedTuple):
    """Whom a trainer asks: the broker, the stream of chunks and the web server, which has files.

    key: proves to control that a report is of a trainer, and to a trainer that an order is not of
    somebody else. tensorboard: the folder of files for TensorBoard; empty: none are written.
    """

    redis_url: str
    stream_url: str
    site_url: str
    name: str
    key: str
    tensorboard: str = ""


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Return the settings. Raises SettingsError naming the variable and what would do."""
    key = environ.get("EVALSITE_NODE_KEY", "")
    if not key:
        raise SettingsError("EVALSITE_NODE_KEY is missing: the key of the reports of trainers")
    name = environ.get("EVALSITE_TRAINER") or "trainer"
    if not name.isprintable() or len(name) > MAX_NAME:
        rule = f"1 to {MAX_NAME} printable characters"
        raise SettingsError(f"EVALSITE_TRAINER is {name!r:.80}: must be {rule}")
    return Settings(
        _read_url(environ, "REDIS_URL", BROKER_SCHEMES),
        _read_url(environ, "STREAM_REDIS_URL", STREAM_SCHEMES),
        _read_url(environ, "EVALSITE_SITE_URL", ("http://", "https://")).rstrip("/"),
        name,
        key,
        _read_tensorboard(environ),
    )


def _read_tensorboard(environ: Mapping[str, str]) -> str:
    folder = environ.get("EVALSITE_TENSORBOARD", "")
    if folder and find_spec("tensorboardX") is None:
        raise SettingsError(
            f"EVALSITE_TENSORBOARD is {folder!r:.80}, but tensorboardX is missing: "
            "pip install 'CLONE[tensorboard]', or leave it empty"
        )
    return folder


def _read_url(environ: Mapping[str, str], name: str, schemes: tuple[str, ...]) -> str:
    url = environ.get(name, "")
    if not url.startswith(schemes):
        # It may hold a password: nothing of it is shown.
        raise SettingsError(f"{name} must be an address, {' or '.join(schemes)}")
    return url
