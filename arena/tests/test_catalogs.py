"""Catalogs: a file is an entry, also one outside the clone; what is no entry is refused clearly."""

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from arena import catalogs
from arena import plugins as all_plugins
from arena.errors import CatalogError, UnknownNameError
from arena.games import registry as games
from arena.policies import registry as policies

GAMES = games.FAMILY
LUDO = """
from arena.games.base import GameSpec

class Ludo:
    spec = GameSpec(
        id="my_ludo", title="Ludo", n_seats=2, n_actions=3, observation_shape=(4,),
        observation_dtype="float32", has_chance=True, has_hidden_information=False,
        opening_plies=0, max_steps=9,
    )
    parameters = {}
    configured = start = lambda self, *_, **__: self

GAME = Ludo()
"""


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what is cached, now and afterwards, and the plug-ins that a test adds."""
    package = import_module(GAMES.package)
    monkeypatch.setattr(package, "__path__", list(package.__path__))
    monkeypatch.delenv(catalogs.PLUGINS, raising=False)
    before = set(sys.modules)
    catalogs.clear_loaded()
    yield
    catalogs.clear_loaded()
    for name in set(sys.modules) - before:
        if name.startswith(f"{GAMES.package}.my_"):
            del sys.modules[name]


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the games folder of a folder that EVALSITE_PLUGINS names."""
    monkeypatch.setenv(catalogs.PLUGINS, str(tmp_path))
    (tmp_path / "games").mkdir()
    return tmp_path / "games"


def test_one_is_loaded_alone_and_may_still_import_another(
    plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plugins / "my_hanging.py").write_text("raise SystemExit")
    (plugins / "my_first.py").write_text(LUDO)
    second = "from arena.games.catalog.my_first import GAME as FIRST\nGAME = FIRST\n"
    (plugins / "my_second.py").write_text(second)
    monkeypatch.setattr(catalogs, "_only", {})
    catalogs.load_only("games", "my_second")
    assert catalogs.list_problems(GAMES) == ()
    assert {"my_first", "my_second"} & set(catalogs.list_ids(GAMES)) == {"my_second"}


def test_one_that_takes_long_to_load_is_named(
    plugins: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (plugins / "my_ludo.py").write_text(LUDO)
    monkeypatch.setattr(catalogs, "SLOW_S", -1.0)
    assert "my_ludo" in catalogs.list_ids(GAMES)
    assert "my_ludo.py took 0 s to load" in caplog.text


def test_plugin_files_are_hashed_as_they_are_without_loading_them(
    plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plugins / "my_broken.py").write_text("raise SystemExit")
    for name in ("2048", "my-dice", "my dice", "m" * 101):
        (plugins / f"{name}.py").write_text(LUDO)
    (plugins / "my_ludo.py").write_text(LUDO)
    (plugins / "my_package").mkdir()
    (plugins / "my_package/__init__.py").write_text(LUDO)
    hashes = catalogs.hash_plugin_files(("games", "policies"))
    # All that control can load: of what a node does not report, it is sent no match.
    names = ("2048", "my-dice", "my_broken", "my_ludo", "my_package")
    assert list(hashes) == [f"games/{name}" for name in names]
    assert {"2048", "my-dice"} <= set(catalogs.list_ids(GAMES))
    assert hashes["games/my_ludo"] == catalogs.plugin_hash(GAMES, "my_ludo")
    assert hashes["games/my_package"] == catalogs.plugin_hash(GAMES, "my_package")
    (plugins / "my_ludo.py").unlink()
    (plugins / "my_ludo.py").symlink_to(plugins / "gone.py")
    assert "games/my_ludo" not in catalogs.hash_plugin_files(["games"])
    monkeypatch.delenv(catalogs.PLUGINS)
    assert catalogs.hash_plugin_files(["games"]) == {}


def test_what_is_forgotten_is_counted() -> None:
    before = catalogs.count_reloads()
    catalogs.clear_loaded()
    assert catalogs.count_reloads() == before + 1


def test_the_ids_are_the_names_of_the_files() -> None:
    names = catalogs.list_ids(GAMES)
    assert {"connect_four", "skill_game", "kuhn_poker_3"} <= set(names)
    assert list(names) == sorted(names)


def test_an_unknown_id_is_refused_with_the_choices() -> None:
    with pytest.raises(
        UnknownNameError, match=r"unknown game 'ludo': choose one of acrobot, backgammon, "
    ):
        games.get("ludo")


def test_where_no_plugins_are_named_an_unknown_id_says_so() -> None:
    with pytest.raises(UnknownNameError, match="EVALSITE_PLUGINS must name its folder"):
        games.get("ludo")


def test_an_id_is_no_path_into_the_packages() -> None:
    with pytest.raises(UnknownNameError):
        games.get(".base")


def test_a_file_outside_the_clone_is_an_entry(plugins: Path) -> None:
    (plugins / "my_ludo.py").write_text(LUDO)
    assert "my_ludo" in games.names()
    assert "connect_four" in games.names()
    assert games.get("my_ludo").spec.title == "Ludo"
    assert not all_plugins.list_problems()


def test_a_package_is_an_entry_whose_hash_covers_all_its_files(plugins: Path) -> None:
    (plugins / "my_ludo").mkdir()
    (plugins / "my_ludo" / "__init__.py").write_text(LUDO)
    rules = plugins / "my_ludo" / "rules.py"
    rules.write_text("DICE = 1\n")
    one = catalogs.plugin_hash(GAMES, "my_ludo")
    catalogs.clear_loaded()
    rules.write_text("DICE = 2\n")
    assert games.get("my_ludo").spec.title == "Ludo"
    assert catalogs.plugin_hash(GAMES, "my_ludo") not in ("", one)


def test_a_plugin_folder_may_lack_a_family(plugins: Path) -> None:
    plugins.rmdir()
    assert policies.names()
    assert games.names()
    assert not all_plugins.list_problems()


def test_a_plugin_folder_that_is_not_there_is_a_problem_and_the_rest_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(catalogs.PLUGINS, "/no/such/folder")
    assert games.get("connect_four")
    (problem,) = all_plugins.list_problems()
    assert str(problem) == "/no/such/folder: EVALSITE_PLUGINS names this folder, which is not there"
    with pytest.raises(UnknownNameError, match="/no/such/folder"):
        games.get("ludo")


def test_of_two_files_of_one_id_the_first_stays_and_the_other_is_a_problem(plugins: Path) -> None:
    (plugins / "connect_four.py").write_text(LUDO)
    assert games.get("connect_four").spec.title != "Ludo"
    (problem,) = all_plugins.list_problems()
    assert problem.file == str(plugins / "connect_four.py")
    assert "another game 'connect_four'" in problem.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must define GAME"),
        ("GAME = 'ludo'", "GAME is no game: it lacks spec, configured"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("GAME = (", "SyntaxError"),
        ("raise RuntimeError('boom')", "RuntimeError: boom"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        (LUDO.replace("n_seats=2", "n_seats=0"), "has n_seats=0: someone must play"),
        (LUDO + "GAME.spec = 'my_ludo'", "has a spec that is no GameSpec"),
    ],
)
def test_a_broken_file_is_a_problem_of_its_id_alone(plugins: Path, text: str, reason: str) -> None:
    (plugins / "my_broken.py").write_text(text)
    (plugins / "my_ludo.py").write_text(LUDO)
    assert games.get("connect_four")
    assert games.get("my_ludo")
    assert "my_broken" not in games.names()
    (problem,) = all_plugins.list_problems()
    assert (problem.name, problem.file) == ("my_broken", str(plugins / "my_broken.py"))
    assert reason in problem.reason
    with pytest.raises(CatalogError, match=r"game 'my_broken' cannot be used: .*my_broken\.py"):
        games.get("my_broken")


@pytest.mark.parametrize("name", ["my dice", "w\u00fcrfel", "m" * 101])
def test_a_name_that_fits_into_no_address_is_a_problem(plugins: Path, name: str) -> None:
    (plugins / f"{name}.py").write_text(LUDO)
    assert name not in games.names()
    (problem,) = all_plugins.list_problems()
    assert problem.name == name
    with pytest.raises(CatalogError, match=r"up to 100 letters .* rename the file"):
        games.get(name)


def test_a_file_that_python_cannot_load_is_a_problem(
    plugins: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plugins / "my_ludo.py").write_text(LUDO)
    monkeypatch.setattr(catalogs, "spec_from_file_location", lambda *_, **__: None)
    assert "my_ludo" not in games.names()
    (problem,) = all_plugins.list_problems()
    assert "is no Python file" in problem.reason


def test_what_runs_is_what_is_hashed_however_quick_the_edit(plugins: Path) -> None:
    # Python's own cache would take the file of before: same second, same size.
    path = plugins / "my_ludo.py"
    path.write_text(LUDO)
    one = catalogs.plugin_hash(GAMES, "my_ludo")
    assert games.get("my_ludo").spec.title == "Ludo"
    stat = path.stat()
    path.write_text(LUDO.replace("Ludo", "Dice"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    catalogs.clear_loaded()
    assert games.get("my_ludo").spec.title == "Dice"
    assert catalogs.plugin_hash(GAMES, "my_ludo") not in ("", one)
    assert catalogs.plugin_hash(GAMES, "connect_four") == ""


def test_a_file_is_hashed_without_being_loaded(plugins: Path) -> None:
    architectures = plugins.parent / "architectures"
    architectures.mkdir()
    (architectures / "my_net.py").write_text("import torch_that_is_not_here")
    assert len(catalogs.file_hash("architectures", "my_net")) == 64
    assert catalogs.file_hash("architectures", "mlp") == ""
