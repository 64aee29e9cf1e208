import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from launcher.errors import SetupError
from launcher.folders import (
    ROOT,
    SECRETS,
    ensure_secrets,
    read_variables,
    require_rights,
    require_writable,
    var_folder,
    write_variables,
)


def test_the_data_folder_is_beside_the_code_unless_named() -> None:
    assert var_folder({}) == ROOT / "var"
    assert var_folder({"EVALSITE_VAR": "/tmp/x/../y"}) == Path("/tmp/y").resolve()


def test_a_data_folder_in_the_home_of_nobody_is_named() -> None:
    with pytest.raises(SetupError, match="EVALSITE_VAR is '~nobody-here/var'"):
        var_folder({"EVALSITE_VAR": "~nobody-here/var"})


def test_a_new_data_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    require_writable(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["log"]


def test_a_data_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(SetupError, match=rf"{blocked / 'var'} cannot be written.*EVALSITE_VAR"):
        require_writable(blocked / "var")


def test_a_full_disk_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    # An empty file, and a small one, still find room on many a full disk.
    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(SetupError, match=r"cannot be written \(No space left .* free some room"):
        require_writable(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_what_another_user_has_left_in_the_data_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = {"db.sqlite3-shm", "log/web.log", "secrets.env", "cache"}
    (tmp_path / "log").mkdir()
    (tmp_path / "cache").mkdir()
    for name in ("db.sqlite3", "db.sqlite3.bak", "log/node-1.log", *refused - {"cache"}):
        (tmp_path / name).touch()
    require_rights(tmp_path, has_database=True)

    # Not by rights of files: who is root has all of them.
    def access(path: Path, rights: int) -> bool:
        assert rights == os.F_OK or bool(rights & os.X_OK) == path.is_dir()
        named = {*refused, "db.sqlite3.bak"}
        return rights == os.F_OK or str(path.relative_to(tmp_path)) not in named

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(SetupError, match=f"read or write {', '.join(sorted(refused))} in the data"):
        require_rights(tmp_path, has_database=True)
    refused.remove("db.sqlite3-shm")
    with pytest.raises(SetupError, match=f"read or write {', '.join(sorted(refused))} in the data"):
        require_rights(tmp_path, has_database=False)


def test_a_link_to_what_is_gone_is_no_matter_of_rights(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "latest.log").symlink_to(tmp_path / "gone")
    (tmp_path / "log" / "loop.log").symlink_to("loop.log")
    require_rights(tmp_path, has_database=True)


def test_a_name_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="too long"):
        require_writable(tmp_path / ("x" * 100))


def test_secrets_are_made_once_and_for_the_owner_only(tmp_path: Path) -> None:
    made = ensure_secrets(tmp_path)
    assert set(made) == set(SECRETS)
    assert (tmp_path / "secrets.env").stat().st_mode & 0o777 == 0o600
    assert ensure_secrets(tmp_path) == made


def test_a_secret_that_is_missing_is_added_and_the_others_stay(tmp_path: Path) -> None:
    write_variables(tmp_path / "secrets.env", {"EVALSITE_SECRET_KEY": "mine"})
    made = ensure_secrets(tmp_path)
    assert made["EVALSITE_SECRET_KEY"] == "mine"
    assert read_variables(tmp_path / "secrets.env") == made


def test_a_value_of_two_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="EVALSITE_X"):
        write_variables(tmp_path / "x.env", {"EVALSITE_X": "a\nREDIS_URL=b"})


def test_variables_are_read_as_they_were_written(tmp_path: Path) -> None:
    variables = {"DATABASE_URL": "postgres://u:p%40x@h/db?options=a=b", "EMPTY": ""}
    write_variables(tmp_path / "x.env", variables)
    assert read_variables(tmp_path / "x.env") == variables
    assert read_variables(tmp_path / "missing.env") == {}
