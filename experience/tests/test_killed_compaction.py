"""A control that is killed between any two steps of joining: every step is in one indexed file."""

import shutil
from pathlib import Path

import pytest
from redis import Redis

from experience.tests.test_killed_sink import LIMIT_S, Folder


@pytest.mark.slow
def test_controls_that_are_killed_at_every_step_of_joining_keep_every_chunk_once(
    tmp_path: Path, migrated_database: Path, stream_server: Redis, valkey_url: str
) -> None:
    del stream_server
    shutil.copy(migrated_database, tmp_path / "db.sqlite3")
    (tmp_path / "static_collected").mkdir()
    folder = Folder(tmp_path, valkey_url)
    killed = folder.start("-m", "experience.tests.killed_compaction")
    sent = int(killed.communicate(timeout=LIMIT_S)[0])
    assert folder.list_stored() == list(range(1, sent + 1))
    # Of each day one file, whose rows are what it has.
    rows = folder.select("SELECT n_rows, n_bytes, path, is_compacted FROM experience_segment")
    assert [row[0] for row in rows] == [3 * 25] * (sent // 3)
    assert all((folder.files / path).stat().st_size == n_bytes for _, n_bytes, path, _ in rows)
    assert folder.select("SELECT count(*) FROM experience_chunkindex") == [(sent,)]
    # What the killed ones have left is at most the files that they had written or not deleted yet.
    orphans = {str(path) for path in folder.files.rglob("*.parquet")} - {
        str(folder.files / path) for _, _, path, _ in rows
    }
    assert 0 < len(orphans) <= 2 * 3 + 2
