"""Catalogs: each file of a folder is one entry whose id is the file's name.

A folder of one's own adds entries without a change here: EVALSITE_PLUGINS names one or more folders
(separated as in PATH) with games/<id>.py, policies/<id>.py and so on.
"""

import os
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from arena.errors import CatalogError, UnknownNameError

PLUGINS = "EVALSITE_PLUGINS"


@cache
def names(package: str) -> tuple[str, ...]:
    """Return the ids of a catalog package, such as "arena.games.catalog", in order.

    Raises CatalogError when a plug-in folder is missing or an id has two files.
    """
    path = import_module(package).__path__
    path += [folder for folder in _plugin_folders(package) if folder not in path]
    found = Counter(module.name for folder in path for module in iter_modules([folder]))
    for name, n_files in found.items():
        if n_files > 1:
            raise CatalogError(f"{name!r} has {n_files} files in {', '.join(path)}: rename one")
    return tuple(sorted(found))


@cache
def entry(package: str, family: str, name: str) -> object:
    """Return the entry of that id: its file's attribute FAMILY.

    Raises UnknownNameError, or CatalogError when the file lacks the attribute.
    """
    if name not in names(package):
        raise UnknownNameError(family, name, names(package))
    module = import_module(f"{package}.{name}")
    if not hasattr(module, family.upper()):
        raise CatalogError(f"{module.__file__} must define {family.upper()}")
    found: object = getattr(module, family.upper())
    return found


def _plugin_folders(package: str) -> list[str]:
    """Return the plug-in folders of this catalog: "arena.games.catalog" is found in games/."""
    roots = [Path(root) for root in os.environ.get(PLUGINS, "").split(os.pathsep) if root]
    for root in roots:
        if not root.is_dir():
            raise CatalogError(f"{PLUGINS}: no folder {str(root)!r}")
    return [str(root / package.split(".")[1]) for root in roots]
