"""Catalogs: a file is an entry, also one outside the clone; what is no entry is refused clearly."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from arena import catalogs
from arena.errors import CatalogError, UnknownNameError

GAMES = "arena.games.catalog"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what is cached, now and afterwards, and the plug-ins that a test adds."""
    package = import_module(GAMES)
    monkeypatch.setattr(package, "__path__", list(package.__path__))
    monkeypatch.delenv(catalogs.PLUGINS, raising=False)
    before = set(sys.modules)
    forget()
    yield
    forget()
    for name in set(sys.modules) - before:
        if name.startswith(f"{GAMES}.my_"):
            del sys.modules[name]
            delattr(package, name.rpartition(".")[2])


def forget() -> None:
    catalogs.names.cache_clear()
    catalogs.entry.cache_clear()


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the games folder of a folder that EVALSITE_PLUGINS names."""
    monkeypatch.setenv(catalogs.PLUGINS, str(tmp_path))
    (tmp_path / "games").mkdir()
    return tmp_path / "games"


def test_the_ids_are_the_names_of_the_files() -> None:
    names = catalogs.names(GAMES)
    assert {"connect_four", "skill_game", "kuhn_poker_3"} <= set(names)
    assert list(names) == sorted(names)


def test_an_unknown_id_is_refused_with_the_choices() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown game 'ludo': choose one of backgammon, "):
        catalogs.entry(GAMES, "game", "ludo")


def test_an_id_is_no_path_into_the_packages() -> None:
    with pytest.raises(UnknownNameError):
        catalogs.entry(GAMES, "game", ".base")


def test_a_file_outside_the_clone_is_an_entry(plugins: Path) -> None:
    (plugins / "my_ludo.py").write_text("GAME = 'ludo'\n")
    assert "my_ludo" in catalogs.names(GAMES)
    assert "connect_four" in catalogs.names(GAMES)
    assert catalogs.entry(GAMES, "game", "my_ludo") == "ludo"


def test_a_plugin_folder_may_lack_a_family(plugins: Path) -> None:
    assert catalogs.names("arena.policies.catalog")
    plugins.rmdir()
    assert catalogs.names(GAMES)


def test_a_plugin_folder_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalogs.PLUGINS, "/no/such/folder")
    with pytest.raises(CatalogError, match="EVALSITE_PLUGINS: no folder '/no/such/folder'"):
        catalogs.names(GAMES)


def test_two_files_of_one_id_are_refused(plugins: Path) -> None:
    (plugins / "connect_four.py").write_text("GAME = 'another'\n")
    with pytest.raises(CatalogError, match="'connect_four' has 2 files"):
        catalogs.names(GAMES)


def test_a_file_without_its_attribute_is_refused(plugins: Path) -> None:
    (plugins / "my_empty.py").write_text("")
    with pytest.raises(CatalogError, match=r"my_empty\.py must define GAME"):
        catalogs.entry(GAMES, "game", "my_empty")
