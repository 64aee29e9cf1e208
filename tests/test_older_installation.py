"""The data folder of an installation that an earlier version made: this one goes on with it.

installations/*.tar.xz each hold a `var/` as `./run stop` left it: one tournament of 400 matches of
0.1 s, 196 of them done, 78 sent, the rest planned. A version that changes what it stores adds one.
"""

import sqlite3
import tarfile
import time
from pathlib import Path

import pytest

from launcher.stack import start_stack

pytestmark = [pytest.mark.slow, pytest.mark.long]

INSTALLATIONS = sorted((Path(__file__).parent / "installations").glob("*.tar.xz"))
LIMIT_S = 120


def read(var: Path, query: str) -> list[tuple[object, ...]]:
    """Return the rows of a query on the database of an installation."""
    database = sqlite3.connect(var / "db.sqlite3", timeout=20)
    try:
        return database.execute(query).fetchall()
    finally:
        database.close()


@pytest.mark.parametrize("archive", INSTALLATIONS, ids=lambda archive: archive.name.split(".")[0])
def test_an_older_installation_goes_on_with_its_tournament(archive: Path, tmp_path: Path) -> None:
    with tarfile.open(archive) as stored:
        stored.extractall(tmp_path, filter="data")
    var = tmp_path / "var"
    outcomes = "SELECT * FROM matches_outcome ORDER BY match_id"
    before = read(var, outcomes)
    assert read(var, "SELECT state FROM matches_tournament") == [("running",)]
    deadline = time.monotonic() + LIMIT_S
    with start_stack(var, nodes=1, slots=2):
        while read(var, "SELECT state FROM matches_tournament") == [("running",)]:
            assert time.monotonic() < deadline, read(var, "SELECT state FROM matches_match")
            time.sleep(0.2)
    assert read(var, "SELECT state FROM matches_tournament") == [("done",)]
    assert read(var, "SELECT state, count(*) FROM matches_match GROUP BY state") == [("done", 400)]
    after = read(var, outcomes)
    assert len(after) == 400
    # The older columns as they were; what has come since is empty.
    kept = [row for row in after if row[0] in {row[0] for row in before}]
    n_columns = len(before[0])
    assert [row[:n_columns] for row in kept] == before
    assert {value for row in kept for value in row[n_columns:]} <= {None, ""}
