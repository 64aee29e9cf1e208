"""What writes a file to be read."""

from pathlib import Path

import pytest

from arena.tests.checkpoint_files import Write


@pytest.fixture
def written(tmp_path: Path) -> Write:
    def write(content: bytes) -> Path:
        path = tmp_path / "file"
        path.write_bytes(content)
        return path

    return write
