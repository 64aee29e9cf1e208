"""Settings of the head, read from its environment once; a wrong one stops the start."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from arena.acl import HEAD_NODE
from arena.parameters import parse_number
from gameservers.errors import GameServerError, SettingsError
from gameservers.head.access import Door
from inference import settings as inference_settings
from inference.errors import InferenceError

_KEY = re.compile("[0-9a-f]{64}")
_WS_SCHEMES = ("ws://", "wss://")
PROXIES, MAX_PROXIES = "EVALSITE_PROXIES", 10


@dataclass(frozen=True)
class HeadSettings:
    """What the head must know.

    node_key: proves to the recorder that a report is of the head; door: whom it lets in. Without
    a broker nothing is reported, without a fast store no network on the gpu queue is asked.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    # Where players dial the head.
    play_address: str = "ws://127.0.0.1:8080"
    node_key: str = field(default="", repr=False)
    door: Door = field(default_factory=Door)
    inference: inference_settings.Settings = field(
        default_factory=inference_settings.Settings, repr=False
    )

    @property
    def has_broker(self) -> bool:
        """Return whether servers are reported to anybody."""
        return bool(self.inference.redis_url)

    @property
    def has_fast_store(self) -> bool:
        """Return whether networks can be asked on the gpu queue, and history is kept."""
        return bool(self.inference.fast_url)


def read_settings(environ: Mapping[str, str], *, host: str, port: int) -> HeadSettings:
    """Return the settings. Raises SettingsError naming variable, value and what would do."""
    try:
        inference = inference_settings.read_settings({**environ, "EVALSITE_NODE": HEAD_NODE})
    except InferenceError as error:
        raise GameServerError(str(error)) from error
    node_key = _read_key(environ, "EVALSITE_NODE_KEY")
    if inference.redis_url and not node_key:
        raise SettingsError(
            "EVALSITE_NODE_KEY", "", "the key of the head's reports, see docs/operating.md"
        )
    return HeadSettings(
        host=host,
        port=port,
        play_address=_read_play_address(environ, host, port),
        node_key=node_key,
        door=Door(_read_key(environ, "EVALSITE_PASS_KEY"), _read_n_proxies(environ) > 0),
        inference=inference,
    )


def _read_key(environ: Mapping[str, str], name: str) -> str:
    key = environ.get(name, "")
    if key and not _KEY.fullmatch(key):
        # A key that was cut is still a secret: only its length is shown.
        raise SettingsError(name, f"{len(key)} characters", "64 hexadecimal digits")
    return key


def _read_n_proxies(environ: Mapping[str, str]) -> int:
    text = environ.get(PROXIES, "0")
    if (number := parse_number(text, highest=MAX_PROXIES)) is None:
        raise SettingsError(PROXIES, text, f"a whole number up to {MAX_PROXIES}")
    return number


def _read_play_address(environ: Mapping[str, str], host: str, port: int) -> str:
    name = "EVALSITE_HEAD_ADDRESS"
    address = environ.get(name, "")
    if address and not address.startswith(_WS_SCHEMES):
        raise SettingsError(name, address, "where players dial the head, ws://host:port")
    shown_host = "127.0.0.1" if host in {"0.0.0.0", "::"} else host
    shown_host = f"[{shown_host}]" if ":" in shown_host else shown_host
    return (address or f"ws://{shown_host}:{port}").rstrip("/")
