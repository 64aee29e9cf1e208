"""What travels to another machine, and what stays."""

import io
import tarfile
from pathlib import Path

import pytest

from launcher.errors import SetupError
from launcher.nodes import cargo
from launcher.nodes.cargo import CODE, pack_cargo


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name in CODE:
        for file in (
            "__init__.py",
            "tests/test_it.py",
            "__pycache__/it.pyc",
            ".secret",
            "deep/a.lua",
        ):
            path = tmp_path / "clone" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
    (tmp_path / "clone" / "pyproject.toml").write_text("[project]")
    (tmp_path / "clone" / "var").mkdir()
    (tmp_path / "clone" / "var" / "secrets.env").write_text("KEY=1")
    return tmp_path / "clone"


def names_of(packed: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {entry.name: entry for entry in archive.getmembers()}


def test_the_code_of_a_node_travels_without_tests_caches_and_secrets(clone: Path) -> None:
    entries = names_of(pack_cargo([], clone))
    assert set(entries) == {
        "code/pyproject.toml",
        *(f"code/{name}/{file}" for name in CODE for file in ("__init__.py", "deep/a.lua")),
    }
    assert {(entry.uid, entry.uname, entry.mode) for entry in entries.values()} == {(0, "", 0o600)}


def test_plugin_folders_travel_each_in_its_place_and_links_as_what_they_lead_to(
    clone: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "games").mkdir(parents=True)
        (tmp_path / name / "games" / f"{name}.py").write_text(name)
    (tmp_path / "two" / "games" / "link.py").symlink_to(tmp_path / "one" / "games" / "one.py")
    entries = names_of(pack_cargo([tmp_path / "one", tmp_path / "two"], clone))
    plugins = {name: entry for name, entry in entries.items() if name.startswith("plugins/")}
    assert set(plugins) == {
        "plugins/1/games/one.py",
        "plugins/2/games/two.py",
        "plugins/2/games/link.py",
    }
    assert all(entry.isfile() for entry in plugins.values())


def test_a_plugin_folder_that_is_missing_or_holds_data_is_refused(
    clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SetupError, match=r"there is no folder .*none: correct EVALSITE_PLUGINS"):
        pack_cargo([tmp_path / "none"], clone)
    monkeypatch.setattr(cargo, "MAX_BYTES", 3)
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "a.py").write_text("1234")
    with pytest.raises(SetupError, match="keep data elsewhere"):
        pack_cargo([tmp_path / "big"], clone)


def test_the_real_clone_is_small_and_holds_what_a_node_imports() -> None:
    packed = pack_cargo([])
    names = names_of(packed)
    assert {"code/workers/celery.py", "code/arena/__init__.py", "code/constraints.txt"} <= set(
        names
    )
    assert len(packed) < 20 << 20
