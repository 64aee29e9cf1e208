"""The commands of `./run llmserve`."""

import argparse
import http.client
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from launcher.addresses import LOOPBACK
from launcher.folders import ROOT, var_folder
from launcher.programs import ONE_THREAD
from launcher.standalone.commands import add_port, add_stop_and_status, start_server
from launcher.standalone.service import Launch, Service
from launcher.tools import find_tool

PACKAGE: Final = ROOT / "environments" / "llmserve"
TOOLS: Final = ("openenv-core", "openenv")
DEFAULT_PORT: Final = 7860
MEMORY_MB: Final = 512
MESSAGE_BYTES: Final = 1 << 20
"""More than this the app refuses; uvicorn alone would first hold 16 MB of each socket."""
STACK_KB: Final = 1024
"""Of each thread; the usual 8 MB of 64 sockets' threads would count against the memory's limit."""
LIMITED: Final = f'ulimit -s {STACK_KB} && ulimit -d {MEMORY_MB * 1024} && exec "$@"'
INHERITED: Final = (
    *("HOME", "LANG", "PATH", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "TMPDIR", "TZ"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL"),
)
PREFIX: Final = "LLMSERVE_"
HEALTHY: Final = b'"healthy"'


def server_url(port: int) -> str:
    """Return the address of the server."""
    return f"http://{LOOPBACK}:{port}"


def why_silent(port: int, *, limit_s: float) -> str:
    """Return why the server at this port of loopback is not healthy; empty where it is."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=limit_s)
    try:
        connection.request("GET", "/health")
        content = connection.getresponse().read(1_000)
    except (OSError, http.client.HTTPException) as error:
        return str(error) or type(error).__name__
    finally:
        connection.close()
    return "" if HEALTHY in content else f"/health says {content[:80]!r}"


LLMSERVE: Final = Service("llmserve", "LLMServe", server_url, why_silent)


def add_llmserve_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare `llmserve` and its options."""
    llmserve = commands.add_parser("llmserve", help="the OpenEnv server of LLMServe, on loopback")
    acts = llmserve.add_subparsers(dest="act", required=True, metavar="start|stop|status")
    start = acts.add_parser("start", help="start it and return once it answers")
    add_port(start, DEFAULT_PORT)
    start.add_argument(
        "--tool", choices=TOOLS, default=TOOLS[0], help=f"the release of OpenEnv ({TOOLS[0]})"
    )
    start.set_defaults(run=start_llmserve)
    add_stop_and_status(acts, LLMSERVE)


def start_llmserve(options: argparse.Namespace) -> int:
    """Start the server and return once it answers; 1 where one runs already or it ends."""
    python = find_tool(options.tool, var_folder(os.environ)) / "bin" / "python"

    def prepare(_: Path) -> Launch:
        # One worker: a session is in the process that began it.
        arguments = ("server.app:app", "--host", LOOPBACK, "--port", str(options.port))
        bounds = ("--workers", "1", "--ws-max-size", str(MESSAGE_BYTES))
        program = (str(python), "-m", "uvicorn", *arguments, *bounds)
        command = ("sh", "-c", LIMITED, "sh", *program)
        return Launch(command, PACKAGE, options.port, choose_variables(os.environ))

    return start_server(LLMSERVE, options.port, prepare)


def choose_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what the server may know of our environment: its own settings and the model's key."""
    own = {
        name: value
        for name, value in environment.items()
        if name in INHERITED or name.startswith(PREFIX)
    }
    return {**own, **ONE_THREAD, "PYTHONUNBUFFERED": "1"}
