"""`./run showdown serve`: the game server of gameservers/showdown, in the tool `poke-env`."""

import os
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from arena.games.showdown.game import RULES_VERSION
from arena.games.showdown.installed import VARIABLE, name_package
from launcher.folders import ROOT, var_folder
from launcher.showdown.home import require_node
from launcher.tools import find_tool

INHERITED: Final = (
    "EVALSITE_PASS_KEY",
    "EVALSITE_SERVE_PASS",
    "EVALSITE_SHOWDOWN_PASSWORD",
    "HOME",
    "LANG",
    "LD_LIBRARY_PATH",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
)


def serve_battles(arguments: Sequence[str]) -> NoReturn:
    """Become the game server. Raises SetupError where poke-env, the simulator or Node.js lacks."""
    var = var_folder(os.environ)
    python = find_tool("poke-env", var) / "bin" / "python"
    simulator = find_tool("showdown", var)
    own_options = ("--node", require_node(), "--package-version", name_package())
    command = [str(python), "-m", "gameservers.showdown", *arguments, *own_options]
    command += ["--rules-version", str(RULES_VERSION)]
    environment = choose_variables(os.environ) | {VARIABLE: str(simulator)}
    os.chdir(ROOT)
    # No child: Ctrl-C and SIGTERM are the game server's alone.
    os.execve(python, command, environment)


def choose_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what poke-env's process may know of our environment."""
    return {name: environment[name] for name in INHERITED if name in environment}
