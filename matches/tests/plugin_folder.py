"""A folder of plug-ins for tests, whose files can be broken or taken away."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

from arena import catalogs, plugins

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "plugins"
GAME, POLICY = "nim", "centre"


class PluginFolder:
    """The example plug-ins in a folder of their own."""

    def __init__(self, root: Path) -> None:
        """Copy them."""
        self.root = root
        for file in ("games/nim.py", "policies/centre.py", "architectures/linear.py"):
            path = root / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text((EXAMPLES / file).read_text(encoding="utf-8"), encoding="utf-8")
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
