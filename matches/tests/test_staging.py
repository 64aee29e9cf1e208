"""Folders of uploads that killed programs have left go after a day, those of today stay."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from matches.store.staging import staging_folder, sweep_staging

NOW = datetime(2026, 5, 4, 10, tzinfo=UTC)


def test_only_what_was_left_long_ago_is_swept(settings: Any, tmp_path: Path) -> None:
    settings.VAR = tmp_path
    (tmp_path / "experience").mkdir()
    with staging_folder() as fresh:
        (old := tmp_path / "staging-old").mkdir()
        (old / "half").write_bytes(b"half")
        for folder, age in ((old, timedelta(days=2)), (fresh, timedelta(hours=23))):
            moment = (NOW - age).timestamp()
            os.utime(folder, (moment, moment))
        os.utime(tmp_path / "experience", (0, 0))
        assert sweep_staging(now=NOW) == 1
        assert sorted(path.name for path in tmp_path.iterdir()) == ["experience", fresh.name]
    assert sweep_staging(now=NOW) == 0
