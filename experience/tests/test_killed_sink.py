"""A sink that is killed between any two of its steps: every accepted chunk is stored once."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from redis import Redis

from arena.experience.segments import read_segment
from launcher.folders import ROOT

KEY = "xp:{cart_pole}"
LIMIT_S = 120.0
LATELY_MS = 900
"""A sink that listens reads every half a second; to start takes one longer than this."""
N_LAST = 3
"""Chunks that `killed_sink` puts after the last sink has died."""


class Folder:
    """A database and files of its own, and programs that use them."""

    def __init__(self, folder: Path, stream_url: str) -> None:
        self.database, self.files = folder / "db.sqlite3", folder / "experience"
        self.environment = {
            **os.environ,
            "EVALSITE_VAR": str(folder),
            "DATABASE_URL": f"sqlite:///{self.database}",
            "STREAM_REDIS_URL": stream_url,
            # Of which a sink asks nothing: nobody listens there.
            "REDIS_URL": "redis://127.0.0.1:1",
            "FAST_REDIS_URL": "redis://127.0.0.1:1",
        }

    def start(self, *command: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *command],
            env=self.environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )

    def select(self, query: str) -> list[Any]:
        with sqlite3.connect(self.database) as rows:
            return rows.execute(query).fetchall()

    def list_stored(self) -> list[int]:
        """Return the numbers of all chunks in indexed files."""
        return sorted(
            int(sent.chunk.chunk_id, 16)
            for (path,) in self.select("SELECT path FROM experience_segment")
            for sent in read_segment(self.files / path)
        )


@pytest.fixture
def folder(
    tmp_path: Path, migrated_database: Path, stream_server: Redis, valkey_url: str
) -> Folder:
    shutil.copy(migrated_database, tmp_path / "db.sqlite3")
    (tmp_path / "static_collected").mkdir()
    return Folder(tmp_path, valkey_url)


def _wait_until(is_so: Callable[[], bool], sink: "subprocess.Popen[str]") -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while not is_so():
        assert sink.poll() is None, "the sink has ended"
        assert time.monotonic() < deadline_s, "the sink does not come so far"
        time.sleep(0.05)


def _count_listening(server: Any) -> int:
    """Return how many consumers have read lately: a killed one has left its name behind."""
    return sum(one["idle"] < LATELY_MS for one in server.xinfo_consumers(KEY, "sink"))


@pytest.mark.slow
def test_sinks_that_are_killed_at_every_step_store_every_chunk_once(
    folder: Folder, stream_server: Redis
) -> None:
    killed = folder.start("-m", "experience.tests.killed_sink")
    sent = int(killed.communicate(timeout=LIMIT_S)[0])
    # Each had what those before it had left; the last chunks came after all of them.
    assert folder.list_stored() == list(range(1, sent - N_LAST + 1))
    begin = ("manage.py", "sink", "--rows", "50", "--seconds", "1", "--name")
    sinks = [folder.start(*begin, name) for name in ("sink", "other")]
    server: Any = stream_server
    try:
        # Told to end before it listens, it would just die.
        for sink in sinks:
            _wait_until(lambda: _count_listening(server) == len(sinks), sink)
        _wait_until(lambda: server.xlen(KEY) == 0, sinks[0])
        assert folder.list_stored() == list(range(1, sent + 1))
        assert folder.select("SELECT count(*) FROM experience_chunkindex") == [(sent,)]
        groups: Any = stream_server.xinfo_groups(KEY)
        assert groups[0]["pending"] == 0
    finally:
        for sink in sinks:
            sink.terminate()
        # Told to end, it ends by itself.
        assert [sink.wait(LIMIT_S) for sink in sinks] == [0, 0]


def test_without_a_stream_the_sink_says_how_to_start_one(settings: Any) -> None:
    settings.STREAM_REDIS_URL = ""
    with pytest.raises(CommandError, match=r"`\./run` starts one"):
        call_command("sink")
