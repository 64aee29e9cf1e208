"""Every file that docs/plugins.md shows passes the checks of its family."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena import catalogs
from arena.conformance.base import run_check
from arena.conformance.families import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+/\w+\.py)\n(.*?)```", PAGE, re.DOTALL))
SERVED = (ROOT / "docs" / "gameservers.md").read_text(encoding="utf-8")
FOLDERS = {"games": "game", "policies": "policy", "pairing": "pairing"}
MAX_LINES = 10
"""Of statements: a game, policy or pairing is that short."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder that plug-ins are read from."""
    monkeypatch.setenv("EVALSITE_PLUGINS", str(tmp_path))
    yield tmp_path
    monkeypatch.undo()
    catalogs.clear_loaded()


def test_it_shows_a_file_of_every_kind() -> None:
    assert {name.partition("/")[0] for name in FILES} == set(FOLDERS)


@pytest.mark.parametrize("name", FILES)
def test_a_shown_file_is_short_and_passes_all_checks(name: str, folder: Path) -> None:
    assert sum(bool(line.strip()) for line in FILES[name].splitlines()) <= MAX_LINES
    path = folder / name
    path.parent.mkdir()
    path.write_text(FILES[name], encoding="utf-8")
    catalogs.clear_loaded()
    checks = FAMILIES[FOLDERS[path.parent.name]](path.stem, ())
    failures = {check: run_check(run) for check, run in checks}
    assert not {check: failure for check, failure in failures.items() if failure}


def test_the_shown_file_of_a_game_server_passes_what_is_checked_without_it(folder: Path) -> None:
    ((name, text),) = re.findall(r"```python\n# (games/nim\.py)\n(.*?)```", SERVED, re.DOTALL)
    (folder / "games").mkdir()
    (folder / name).write_text(text, encoding="utf-8")
    catalogs.clear_loaded()
    failures = [
        failure for _, check in FAMILIES["game"]("nim", ()) if (failure := run_check(check))
    ]
    assert not failures
