"""Catalogs: each file of a folder is one entry whose id is the file's name.

A folder of one's own adds entries without a change here: EVALSITE_PLUGINS names one or more folders
(separated as in PATH) with games/<id>.py, policies/<id>.py and so on. A plug-in that cannot be used
is a problem of its own id: the other entries of its family stay.
"""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import iter_modules
from threading import RLock
from time import monotonic
from typing import Any

from arena.errors import CatalogError, UnknownNameError
from arena.plugin_dependencies import require_dependencies

log = logging.getLogger(__name__)

PLUGINS = "EVALSITE_PLUGINS"
_MAIN = "__init__.py"
# A plug-in that takes longer to load is named: a start waits for it.
SLOW_S = 5.0
# What fits into the address of a page, a report of a node and a column.
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
# Reentrant: a plug-in that is being loaded may ask for another family, which loads that too.
_loading = RLock()
_generation = [0]
# By folder: the one plug-in of it that is loaded.
_only: dict[str, str] = {}


@dataclass(frozen=True)
class Family:
    """The entries of one kind: their package, the name they go by, what each must have."""

    package: str
    name: str
    members: tuple[str, ...] = ()
    # Says why an entry that has them cannot be used; empty when it can.
    refusal: Callable[[Any], str] = lambda _: ""

    @property
    def folder(self) -> str:
        """The folder of its plug-ins: "arena.games.catalog" has games/."""
        return self.package.split(".")[1]


@dataclass(frozen=True)
class PluginProblem:
    """A plug-in file or folder that cannot be used."""

    file: str
    reason: str
    # Its id; empty for a folder.
    name: str = ""

    def __str__(self) -> str:
        """Return file and reason as one line, as pages and commands show it."""
        return f"{self.file}: {self.reason}"


@dataclass(frozen=True)
class _Plugin:
    """A loaded plug-in and the hash of the code that it was loaded from."""

    entry: object
    sha256: str


@dataclass(frozen=True)
class _Loaded:
    shipped: tuple[str, ...]
    plugins: dict[str, _Plugin]
    # By id, or by folder.
    problems: dict[str, PluginProblem]


def list_ids(family: Family) -> tuple[str, ...]:
    """Return the ids of all entries that can be used, in order."""
    catalog = _load_family(family)
    return tuple(sorted((*catalog.shipped, *catalog.plugins)))


def list_problems(family: Family) -> tuple[PluginProblem, ...]:
    """Return the plug-ins of a family that cannot be used, and the folders that are not there."""
    return tuple(_load_family(family).problems.values())


@cache
def get_entry(family: Family, name: str) -> object:
    """Return the entry of that id: its file's attribute FAMILY.

    Raises UnknownNameError, or CatalogError when its file cannot be used.
    """
    catalog = _load_family(family)
    if name in catalog.plugins:
        return catalog.plugins[name].entry
    # Whoever loads one plug-in only means it, and not ours of the same name.
    if name in catalog.shipped and _only.get(family.folder) != name:
        module = import_module(f"{family.package}.{name}")
        return _get_member(module, family)
    problem = next((entry for entry in catalog.problems.values() if entry.name == name), None)
    if problem is not None:
        raise CatalogError(f"{family.name} {name!r} cannot be used: {problem}")
    # A plug-in that another process knows is most often missing because this one lacks its folder.
    absent = [str(problem) for problem in catalog.problems.values() if not problem.name]
    hint = "; ".join(absent) or f"{PLUGINS} names {os.environ.get(PLUGINS)}, which has no such file"
    if not _list_plugin_roots():
        hint = f"if it is a plug-in, {PLUGINS} must name its folder, for this process as for ./run"
    raise UnknownNameError(family.name, name, list_ids(family), hint=hint)


def plugin_hash(family: Family, name: str) -> str:
    """Return the SHA-256 of the code that an entry was loaded from; empty for a shipped one."""
    plugin = _load_family(family).plugins.get(name)
    return plugin.sha256 if plugin else ""


def file_hash(folder: str, name: str) -> str:
    """Return the SHA-256 of a plug-in's file as it is now, without loading it; empty if none is.

    For what this process must not import, such as architectures where there is no torch.
    """
    path = _find_first_file(folder, name)
    return _hash_code(path) if path is not None else ""


def _find_first_file(folder: str, name: str) -> Path | None:
    paths = (find_plugin_file(root, name) for root in list_plugin_folders(folder))
    return next(filter(None, paths), None)


def hash_plugin_files(folders: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of the plug-in files of some families, by folder and id: games/my_game.

    As they are now, without loading them; a file that cannot be read or named is left out, and one
    that declares what is not here: each match that it is asked for would fail.
    """
    hashes: dict[str, str] = {}
    for folder in folders:
        modules = iter_modules([str(root) for root in list_plugin_folders(folder)])
        for name in {module.name for module in modules if _ID.fullmatch(module.name)}:
            path = _find_first_file(folder, name)
            with suppress(OSError):
                if path is not None and _has_dependencies(path):
                    hashes[f"{folder}/{name}"] = _hash_code(path)
    return dict(sorted(hashes.items()))


def _has_dependencies(path: Path) -> bool:
    """Say whether all is here that a plug-in declares; what lacks is logged."""
    source = path.read_bytes()
    try:
        require_dependencies(source)
    # Whatever its comments hold must not stop who has other plug-ins, too.
    except Exception as error:
        log.warning("%s is not used here: %s", path, error)
        return False
    return True


def list_plugin_folders(folder: str) -> list[Path]:
    """Return the folders of a family in the places that plug-ins come from, there or not."""
    return [root / folder for root in _list_plugin_roots()]


def count_reloads() -> int:
    """Return how often what was loaded was forgotten: what follows from it can be kept so long."""
    return _generation[0]


def clear_loaded() -> None:
    """Forget all plug-ins that were loaded, so that the next call reads the folders again."""
    _generation[0] += 1
    _load_family.cache_clear()
    get_entry.cache_clear()


def load_only(folder: str, name: str) -> None:
    """Load of the plug-ins of a folder this one alone; the others are there for it to import."""
    _only[folder] = name
    clear_loaded()


@cache
def _load_family(family: Family) -> _Loaded:
    """Return the ids and the problems of a family.

    Plug-ins are loaded, since only that shows whether they can be used. Shipped files are not:
    a process that needs one game need not load the engines of all.
    """
    with _loading:
        package = import_module(family.package)
        folders = list_plugin_folders(family.folder)
        ours = str(Path(str(package.__file__)).parent)
        shipped = tuple(module.name for module in iter_modules([ours]))
        catalog = _Loaded(shipped, {}, {})
        for root in _list_plugin_roots():
            if not root.is_dir():
                reason = f"{PLUGINS} names this folder, which is not there"
                catalog.problems[str(root)] = PluginProblem(str(root), reason)
        # Plug-ins of a family may import each other.
        package.__path__ = [ours, *map(str, folders)]
        for folder in folders:
            for module in iter_modules([str(folder)]):
                if _only.get(family.folder, module.name) == module.name:
                    _add_plugin(catalog, family, folder, module.name)
        return catalog


def _add_plugin(catalog: _Loaded, family: Family, folder: Path, name: str) -> None:
    """Load a plug-in into its catalog; what is wrong with it is a problem of this id alone."""
    path = find_plugin_file(folder, name) or folder / name
    if not _ID.fullmatch(name):
        reason = "its name must be up to 100 letters (a to z), digits, _ and -: rename the file"
        catalog.problems[name] = PluginProblem(str(path), reason, name)
        return
    if name in catalog.shipped or name in catalog.plugins:
        # Not under its id, whose entry stays.
        reason = f"there is another {family.name} {name!r} already: rename the file"
        catalog.problems[str(path)] = PluginProblem(str(path), reason, name)
        return
    began = monotonic()
    try:
        catalog.plugins[name] = _load_plugin(family, name, path)
    # Whatever the code of a plug-in raises, also sys.exit(), must not stop the other entries.
    except (Exception, SystemExit) as error:
        text = str(error) if isinstance(error, CatalogError) else f"{type(error).__name__}: {error}"
        catalog.problems[name] = PluginProblem(str(path), " ".join(text.split()), name)
    if (took_s := monotonic() - began) > SLOW_S:
        log.warning("%s took %.0f s to load: each process that starts waits for it", path, took_s)


def _load_plugin(family: Family, name: str, path: Path) -> _Plugin:
    """Return a plug-in, run from the bytes that are hashed.

    Python's own cache goes by second and size, so that an edit may run the code before it.
    """
    full_name = f"{family.package}.{name}"
    loader = SourceFileLoader(full_name, str(path))
    spec = spec_from_file_location(full_name, path, loader=loader)
    if spec is None:
        raise CatalogError("is no Python file")
    module = module_from_spec(spec)
    source = path.read_bytes()
    require_dependencies(source)
    code_hash = sha256(source).hexdigest() if path.name != _MAIN else _hash_code(path)
    # Before it runs, as import does it: dataclasses and pickle look their module up by name.
    sys.modules[full_name] = module
    try:
        # Not loader.exec_module: it would read the file again, maybe after an edit.
        exec(loader.source_to_code(source, str(path)), module.__dict__)
        return _Plugin(_get_member(module, family), code_hash)
    except BaseException:
        del sys.modules[full_name]
        raise


def _get_member(module: object, family: Family) -> object:
    """Return the entry that a module offers. Raises CatalogError when it is of another family."""
    attribute = family.name.upper()
    if not hasattr(module, attribute):
        raise CatalogError(f"it must define {attribute}")
    member: object = getattr(module, attribute)
    missing = [name for name in family.members if not hasattr(member, name)]
    if missing:
        raise CatalogError(f"{attribute} is no {family.name}: it lacks {', '.join(missing)}")
    if refusal := family.refusal(member):
        raise CatalogError(f"{attribute} {refusal}")
    return member


def find_plugin_file(folder: Path, name: str) -> Path | None:
    """Return the file of a plug-in: <id>.py, or the first file of a package."""
    candidates = (folder / f"{name}.py", folder / name / _MAIN)
    return next((path for path in candidates if path.is_file()), None)


def _hash_code(path: Path) -> str:
    """Return the SHA-256 of a file; of a package, of all its files with their names."""
    if path.name != _MAIN:
        return sha256(path.read_bytes()).hexdigest()
    digest = sha256()
    for file in sorted(path.parent.rglob("*.py")):
        digest.update(f"{file.relative_to(path.parent)}\0".encode())
        digest.update(sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _list_plugin_roots() -> list[Path]:
    return [Path(root) for root in os.environ.get(PLUGINS, "").split(os.pathsep) if root]
