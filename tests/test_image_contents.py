"""What `docker compose build` would copy into the image, which the players can read."""

import tomllib
from pathlib import Path

import pytest
from docker.utils import exclude_paths  # Docker's own reading of .dockerignore

from launcher.folders import ROOT

PATTERNS = [
    line
    for line in (ROOT / ".dockerignore").read_text().splitlines()
    if line and not line.startswith("#")
]
PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "root_packages"
]
OF_A_USER = (
    ".env",
    ".env.production",
    "production.env",
    "evalsite/local.env",
    ".git/config",
    ".venv/bin/python",
    ".mypy_cache/CACHEDIR.TAG",
    "var/secrets.env",
    "var/db.sqlite3",
    "var-other/secrets.env",
    "var2/broker/valkey.conf",
    "matches/var/secrets.env",
    "node_modules/x/index.js",
    "test-artifacts/page.html",
    "backup/db.sqlite3",
    "db.sqlite3-wal",
    "matches/db.sqlite3",
    "workers/server.key",
    "evalsite/cert.pem",
    "notes.txt",
    "docker-compose.override.yml",
    "evalsite/tests/secret.py",
    "arena/__pycache__/seeding.cpython-311.pyc",
)


def copied(root: Path) -> set[str]:
    """Return the paths that a build of this folder copies; the rules' own file comes always."""
    paths: set[str] = exclude_paths(str(root), list(PATTERNS))
    return paths - {".dockerignore"}


def test_everything_that_the_containers_run_is_copied() -> None:
    folders = [ROOT / name for name in (*PACKAGES, "static", "templates")]
    files = [path.relative_to(ROOT) for folder in folders for path in folder.rglob("*.*")]
    needed = {str(path) for path in files if not {"tests", "__pycache__"} & set(path.parts)}
    assert needed - copied(ROOT) == set()
    assert {"manage.py", "pyproject.toml", "constraints.txt"} <= copied(ROOT)


def test_nothing_else_of_the_clone_is_copied() -> None:
    top = {path.split("/", 1)[0] for path in copied(ROOT)}
    files = {"manage.py", "pyproject.toml", "constraints.txt"}
    assert top == {*PACKAGES, "static", "templates", *files}


@pytest.mark.parametrize("path", OF_A_USER)
def test_no_secret_state_or_note_of_a_user_is_copied(path: str, tmp_path: Path) -> None:
    for name in (path, "arena/seeding.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert copied(tmp_path) - {"arena", "evalsite", "matches", "workers"} == {"arena/seeding.py"}
