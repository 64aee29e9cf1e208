"""A folder of plug-ins for tests, whose files can be broken or taken away."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

from arena import catalogs, plugins

SKELETONS = Path(__file__).resolve().parents[2] / "evalsite_client" / "skeletons"
GAME, POLICY = "nim", "centre"
# By their files: which skeleton of `evalsite plugin new` each is.
FILES = {
    f"games/{GAME}.py": "game",
    f"policies/{POLICY}.py": "policy",
    "architectures/linear.py": "architecture",
}


def write_plugins(root: Path) -> None:
    """Write the plug-ins that an author starts from into a folder."""
    for file, family in FILES.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (SKELETONS / f"{family}.txt").read_text(encoding="utf-8")
        path.write_text(text.replace("NAME", path.stem), encoding="utf-8")


class PluginFolder:
    """Plug-ins in a folder of their own."""

    def __init__(self, root: Path) -> None:
        """Write them."""
        self.root = root
        write_plugins(root)
        self.game, self.policy = root / "games/nim.py", root / "policies/centre.py"
        self.architecture = root / "architectures/linear.py"

    def edit(self, path: Path, old: str, new: str) -> None:
        """Change a file, as its author would, and start again."""
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        self.restart()

    def restart(self) -> None:
        """Forget what was loaded, as a process does that is started again."""
        catalogs.clear_loaded()


@contextmanager
def plugin_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginFolder]:
    """Yield a folder that EVALSITE_PLUGINS names; afterwards nothing of it is left."""
    monkeypatch.setenv(catalogs.PLUGINS, str(root))
    packages = [import_module(family.package) for family in plugins.FAMILIES]
    for package in packages:
        monkeypatch.setattr(package, "__path__", list(package.__path__))
    catalogs.clear_loaded()
    try:
        yield PluginFolder(root)
    finally:
        monkeypatch.delenv(catalogs.PLUGINS)
        catalogs.clear_loaded()
        for package in packages:
            for name in (GAME, POLICY):
                sys.modules.pop(f"{package.__name__}.{name}", None)
