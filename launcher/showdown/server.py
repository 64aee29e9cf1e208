"""The server of Pokemon Showdown: how it is started, and how one asks whether it answers."""

import time
from pathlib import Path
from typing import Final

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from launcher.addresses import LOOPBACK
from launcher.standalone.service import Launch, Service


def why_silent(port: int, *, limit_s: float) -> str:
    """Return why nobody could log in at this port of loopback; empty where one could."""
    # Its first answer after a start lists all formats, for which it reads its whole data.
    try:
        url = server_url(port)
        # A proxy that our environment names would look for the server on its own machine.
        with connect(url, open_timeout=limit_s, close_timeout=1, proxy=None) as socket:
            until = time.monotonic() + limit_s
            # A login begins with the server's challenge: what comes before it says little.
            while "|challstr|" not in str(socket.recv(timeout=until - time.monotonic())):
                pass
    except TimeoutError:
        return f"it has not answered within {limit_s:g} s"
    except (OSError, WebSocketException) as error:
        return str(error)
    return ""


def server_url(port: int) -> str:
    """Return the address at which clients dial the server."""
    return f"ws://{LOOPBACK}:{port}/showdown/websocket"


def describe_launch(node: str, home: Path, port: int) -> Launch:
    """Return how the server of this folder is started."""
    command = [node, "pokemon-showdown", "start", "--skip-build", "--no-security", str(port)]
    return Launch(command, home, port)


SHOWDOWN: Final = Service("showdown", "Pokemon Showdown", server_url, why_silent)
