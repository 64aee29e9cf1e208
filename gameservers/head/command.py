"""`eval_head --port 8080`: run the head until it is told to stop."""

import argparse
import errno
import logging
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import uvicorn

from arena.addresses import AddressError
from arena.games.line_messages import MAX_FRAME
from arena.parameters import parse_number
from gameservers.discovery.settings import build_registry
from gameservers.errors import GameServerError
from gameservers.head.app import Head
from gameservers.head.bucket import BUCKET, open_bucket
from gameservers.head.settings import read_settings

BAD_INPUT = 2
STARTUP_FAILED = 3
HIGHEST_PORT = 65_535
# Lines of players that are open when it stops: they break, and their matches are played again.
STOP_S = 3


def read_port(text: str) -> int:
    """Return a port. Raises ArgumentTypeError."""
    if (port := parse_number(text, lowest=1, highest=HIGHEST_PORT)) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no port from 1 to {HIGHEST_PORT}")
    return port


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="eval_head", description="Know the game servers, and answer for agents."
    )
    flag = parser.add_argument
    flag("--host", default="127.0.0.1", help="where it listens (127.0.0.1: this machine only)")
    flag("--port", type=read_port, default=8080, help="8080")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the head; return the exit status."""
    options = build_parser().parse_args(arguments)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    try:
        own = read_settings(os.environ, host=options.host, port=options.port)
        registry = build_registry({**os.environ, "EVALSITE_HOST": options.host}, probe=None)
        text = os.environ.get(BUCKET, "")
        bucket = open_bucket(text, own.inference.cache) if text else None
        listening = bind_port(own.host, own.port)
    except (GameServerError, AddressError) as error:
        sys.stderr.write(f"eval_head: {error}\n")
        return BAD_INPUT
    app = Head(own, registry, bucket=bucket).make_app()
    server = uvicorn.Server(uvicorn.Config(app, **uvicorn_options()))
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    return 0 if server.started else STARTUP_FAILED


def bind_port(host: str, port: int) -> socket.socket:
    """Return the socket on which the head listens. Raises GameServerError."""
    # Not left to uvicorn, which would answer with a status of its own once all else has started.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        remedy = "end what has it, or choose another by --port"
        if error.errno != errno.EADDRINUSE:
            remedy = "--host must be an address of this machine, and --port one that is free"
        # Python puts the address into the text of its own errors.
        number = error.errno or 0
        reason = os.strerror(number) if number in errno.errorcode else error
        raise GameServerError(f"cannot listen at {host}:{port}: {reason}: {remedy}") from error


def uvicorn_options() -> dict[str, Any]:
    """Return how the head is served."""
    return {
        "log_level": "warning",
        "access_log": False,
        "ws_max_size": MAX_FRAME,
        # Observations hardly shrink, and it would be done again at each end.
        "ws_per_message_deflate": False,
        # Whoever asks is told by its socket: a header can say anything.
        "proxy_headers": False,
        "timeout_graceful_shutdown": STOP_S,
    }
