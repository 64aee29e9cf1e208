"""Where the npm package is, and which one the rules are of."""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLE: Final = "EVALSITE_SHOWDOWN"
"""The folder that holds its node_modules; left out, where `./run tools install` puts it."""
CAPABILITY: Final = "showdown"
PACKAGE: Final = (0, 11, 11)
"""The package's version; deploy/tools/showdown pins the same one."""
DEFAULT_FOLDER: Final = Path(__file__).resolve().parents[3] / "var" / "tools" / "showdown"


def name_package() -> str:
    """Return the version as npm writes it."""
    return ".".join(map(str, PACKAGE))


def find_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that should hold the package's node_modules."""
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE])
    of_data = Path(environ.get("EVALSITE_VAR", "")) / "tools" / "showdown"
    return of_data if environ.get("EVALSITE_VAR") and of_data.is_dir() else DEFAULT_FOLDER


def find_node(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the program of Node.js; it may have come with our own virtual environment."""
    return shutil.which("node", path=f"{environ.get('PATH', '')}:{Path(sys.executable).parent}")


def find_version(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the version of the package that is here; None without one that can be read."""
    package = find_folder(environ) / "node_modules" / "pokemon-showdown" / "package.json"
    try:
        described = json.loads(package.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    version = described.get("version") if isinstance(described, dict) else None
    return version if isinstance(version, str) else None


def is_playable(environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether this machine has Node.js and this version of the package.

    With another one it would have to give back every match that it is sent.
    """
    return find_version(environ) == name_package() and find_node(environ) is not None
