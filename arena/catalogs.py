"""Catalogs: each file of a folder is one entry whose id is the file's name."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from arena.errors import UnknownNameError


@cache
def names(package: str) -> tuple[str, ...]:
    """Return the ids of a catalog package, such as "arena.games.catalog", in order."""
    return tuple(sorted(module.name for module in iter_modules(import_module(package).__path__)))


@cache
def entry(package: str, family: str, name: str) -> object:
    """Return the entry of that id: its file's attribute FAMILY. Raises UnknownNameError."""
    if name not in names(package):
        raise UnknownNameError(family, name, names(package))
    found: object = getattr(import_module(f"{package}.{name}"), family.upper())
    return found
