"""Tests of what a plug-in file declares that it needs."""

from pathlib import Path

import numpy as np
import pytest

from arena import catalogs, plugin_dependencies
from arena.errors import CatalogError
from arena.games import registry as games
from arena.plugin_dependencies import require_dependencies


def declare(*lines: str) -> bytes:
    return "\n".join(
        ["# /// script", *(f"# {line}".rstrip() for line in lines), "# ///", ""]
    ).encode()


@pytest.mark.parametrize(
    "source",
    [
        b"GAME = None\n",
        declare("dependencies = []"),
        declare('requires-python = ">=3.8"', "", 'dependencies = ["numpy>=1", "msgspec"]'),
        declare("dependencies = [\"no-such-thing; python_version < '3'\"]"),
        declare('dependencies = ["numpy"]').replace(b"\n", b"\r\n"),
        b'"""Text."""\n' + declare('dependencies = ["numpy"]') + b"import numpy\n",
    ],
)
def test_what_is_here_is_enough(source: bytes) -> None:
    require_dependencies(source)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            ['dependencies = ["no-such-thing>=4", "numpy>=999"]'],
            r"needs no-such-thing>=4 \(not installed\), "
            rf"numpy>=999 \({np.__version__} is installed\): \.venv/bin/python -m pip install "
            r"'no-such-thing>=4' 'numpy>=999'",
        ),
        (['requires-python = ">=9"'], r"needs Python >=9, and this is 3"),
        (['requires-python = "new"'], "requires-python must be such as >=3.11, got 'new'"),
        (['dependencies = "numpy"'], "dependencies must be a list, got 'numpy'"),
        (['dependencies = ["a b c"]'], "dependencies has 'a b c'"),
        (["dependencies = ["], "its block `# /// script` is no TOML"),
    ],
)
def test_what_lacks_or_is_wrong_is_named(lines: list[str], problem: str) -> None:
    with pytest.raises(CatalogError, match=problem):
        require_dependencies(declare(*lines))


def test_a_mark_of_the_encoding_hides_nothing() -> None:
    with pytest.raises(CatalogError, match="no-such-thing"):
        require_dependencies(b"\xef\xbb\xbf" + declare('dependencies = ["no-such-thing"]'))


def test_a_python_between_two_releases_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_dependencies, "python_version", lambda: "3.13.0+")
    require_dependencies(declare('requires-python = ">=3.11"'))
    with pytest.raises(CatalogError, match=r"needs Python >=3.14, and this is 3\.13\.0\+"):
        require_dependencies(declare('requires-python = ">=3.14"'))


def test_two_blocks_are_refused() -> None:
    with pytest.raises(CatalogError, match="has 2 blocks"):
        require_dependencies(declare("dependencies = []") + b"\n" + declare("x = 1"))


@pytest.mark.parametrize(
    "line", [f"dependencies = {'[' * 5_000}", "dependencies = [\"numpy; os_name < 'a' < 'b'\"]"]
)
def test_odd_comments_leave_the_hashes_of_other_files(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "games").mkdir()
    (tmp_path / "games" / "odd.py").write_bytes(declare(line))
    (tmp_path / "games" / "plain.py").write_text("GAME = None\n")
    monkeypatch.setenv(catalogs.PLUGINS, str(tmp_path))
    assert list(catalogs.hash_plugin_files(["games"])) == ["games/plain"]
    assert "odd.py is not used here: " in caplog.text


def test_a_file_that_lacks_something_never_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "games").mkdir()
    code = f"open({str(ran)!r}, 'w')\nGAME = None\n".encode()
    needy = declare('dependencies = ["no-such-thing"]') + code
    (tmp_path / "games" / "needy.py").write_bytes(needy)
    monkeypatch.setenv(catalogs.PLUGINS, str(tmp_path))
    catalogs.clear_loaded()
    try:
        (problem,) = catalogs.list_problems(games.FAMILY)
        assert "needs no-such-thing (not installed)" in problem.reason
        # Nor does a node say that it has it, or it would be sent matches that all fail.
        assert catalogs.hash_plugin_files(["games"]) == {}
        assert not ran.exists()
    finally:
        monkeypatch.undo()
        catalogs.clear_loaded()
