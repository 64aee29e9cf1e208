import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalsite import environment
from launcher.folders import ROOT, write_variables
from launcher.stack import child_environment


@pytest.mark.parametrize(
    ("raw", "value"), [("1", True), ("True", True), ("off", False), ("", False)]
)
def test_a_flag_is_read(raw: str, value: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_X", raw)
    assert environment.read_flag("EVALSITE_X", default=not value) is value


def test_what_is_not_set_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVALSITE_X", raising=False)
    assert environment.read_flag("EVALSITE_X", default=True)
    assert environment.read_number("EVALSITE_X", 7, highest=9) == 7
    assert environment.read_names("EVALSITE_X", ["a"]) == ["a"]
    assert environment.read_text("EVALSITE_X", "b") == "b"


def test_names_are_read_without_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_X", " a.example, b.example,")
    assert environment.read_names("EVALSITE_X", []) == ["a.example", "b.example"]


def test_a_wrong_flag_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_X", "maybe")
    with pytest.raises(ImproperlyConfigured, match="EVALSITE_X is 'maybe'; choose 1 or 0"):
        environment.read_flag("EVALSITE_X", default=False)


@pytest.mark.parametrize("raw", ["", "-1", "10", "1.0", "x"])
def test_a_wrong_number_is_named(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_X", raw)
    with pytest.raises(ImproperlyConfigured, match=r"EVALSITE_X is .* up to 9"):
        environment.read_number("EVALSITE_X", 1, highest=9)


@pytest.mark.parametrize(
    "raw",
    [
        *("", "nonsense", "mysql://user:s3cret@host/x", "postgres://user:s3cret@host:port/x"),
        *("postgres://user:s3cret/4@host/x", "postgres://user:5432/s3cret@host/x"),
        *("postgres://user:s3cret@host", "postgres://user:s3cret@[::1/x"),
    ],
)
def test_a_wrong_database_is_named_without_its_password(
    raw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", raw)
    with pytest.raises(
        ImproperlyConfigured, match=r"DATABASE_URL .*(postgres|cannot be read)"
    ) as caught:
        environment.read_database("DATABASE_URL", "")
    assert "s3cret" not in str(caught.value)


def test_a_database_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://u:p%40x@host:5/name")
    read = environment.read_database("DATABASE_URL", "")
    assert (read["ENGINE"], read["PASSWORD"], read["PORT"]) == (
        "django.db.backends.postgresql",
        "p@x",
        5,
    )
    assert read["CONN_HEALTH_CHECKS"]
    assert read["OPTIONS"] == {"connect_timeout": 5, "tcp_user_timeout": 15_000}
    monkeypatch.setenv("DATABASE_URL", "postgres://u:p@host:5/name?connect_timeout=2")
    assert environment.read_database("DATABASE_URL", "")["OPTIONS"]["connect_timeout"] == 2
    assert "OPTIONS" not in environment.read_database("EVALSITE_NO_DATABASE", "sqlite:///x")


def test_a_database_may_be_a_service_of_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://?service=evalsite")
    read = environment.read_database("DATABASE_URL", "")
    assert (read["NAME"], read["OPTIONS"]["service"]) == ("", "evalsite")


def settings_in(var: Path, variables: dict[str, str]) -> dict[str, object]:
    ask = (
        "import json; from evalsite import settings as s;"
        "print(json.dumps([s.SECRET_KEY, s.REDIS_URL, s.DEBUG, s.DATABASES['default']['NAME']]))"
    )
    printed = subprocess.check_output(
        [sys.executable, "-c", ask], cwd=ROOT, env=child_environment(var, variables), text=True
    )
    return dict(zip(("key", "broker", "debug", "database"), json.loads(printed), strict=True))


def test_settings_come_from_the_data_folder_and_the_environment_wins(tmp_path: Path) -> None:
    write_variables(tmp_path / "secrets.env", {"EVALSITE_SECRET_KEY": "kept"})
    write_variables(tmp_path / "stack.env", {"REDIS_URL": "redis://kept/0"})
    assert settings_in(tmp_path, {"REDIS_URL": "redis://given/0"}) == {
        "key": "kept",
        "broker": "redis://given/0",
        "debug": False,
        "database": str(tmp_path / "db.sqlite3"),
    }


def test_settings_without_a_stack_name_the_port_of_our_own_broker_and_no_user(
    tmp_path: Path,
) -> None:
    assert settings_in(tmp_path, {})["broker"] == "redis://127.0.0.1:7379/0"


@pytest.mark.parametrize("raw", ["", "-0.1", "10", "nan", "inf", "x"])
def test_a_wrong_fraction_is_named(raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSITE_X", raw)
    with pytest.raises(ImproperlyConfigured, match=r"EVALSITE_X is .* from 0 to 9"):
        environment.read_real("EVALSITE_X", 1.0, highest=9)


def test_a_fraction_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.read_real("EVALSITE_X", 0.3, highest=9) == 0.3
    monkeypatch.setenv("EVALSITE_X", "1.5")
    assert environment.read_real("EVALSITE_X", 0.3, highest=9) == 1.5


def test_files_lie_in_a_folder_unless_a_storage_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment.read_storage("EVALSITE_X", tmp_path)["OPTIONS"] == {
        "location": str(tmp_path)
    }
    monkeypatch.setenv("EVALSITE_X_STORAGE", "storages.backends.s3.S3Storage")
    monkeypatch.setenv("EVALSITE_X_OPTIONS", '{"bucket_name": "b"}')
    assert environment.read_storage("EVALSITE_X", tmp_path) == {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {"bucket_name": "b"},
    }


@pytest.mark.parametrize("raw", ["{", "[1]", "s3cret"])
def test_wrong_options_of_a_storage_are_named_and_not_shown(
    raw: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSITE_X_STORAGE", "a.B")
    monkeypatch.setenv("EVALSITE_X_OPTIONS", raw)
    with pytest.raises(ImproperlyConfigured, match="EVALSITE_X_OPTIONS is no JSON object") as error:
        environment.read_storage("EVALSITE_X", tmp_path)
    assert "s3cret" not in str(error.value)


def test_sqlite_has_one_recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "EVALSITE_RECORDERS"
    monkeypatch.setenv(name, "2")
    assert environment.read_recorders(name, engine="django.db.backends.postgresql") == 2
    with pytest.raises(ImproperlyConfigured, match="EVALSITE_RECORDERS is 2, and SQLite lets one"):
        environment.read_recorders(name, engine="django.db.backends.sqlite3")
    monkeypatch.setenv(name, "0")
    with pytest.raises(ImproperlyConfigured, match="EVALSITE_RECORDERS is 0"):
        environment.read_recorders(name, engine="django.db.backends.postgresql")
    monkeypatch.delenv(name)
    assert environment.read_recorders(name, engine="django.db.backends.sqlite3") == 1
