"""A command that is stopped ends as after Ctrl-C, and writes whole files or none."""

import json
import os
import signal
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from evalsite_client.cli.options import writable_file
from evalsite_client.cli.saving import save_bytes, save_json, save_text
from evalsite_client.cli.stopping import take_sigterm


def stop_at_once(*_: object, **__: object) -> float:
    raise KeyboardInterrupt


def test_sigterm_means_what_ctrl_c_means() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), take_sigterm():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_path_is_tried_before_any_work_and_leaves_no_file(tmp_path: Path) -> None:
    assert writable_file(str(tmp_path / "new.json")) == tmp_path / "new.json"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.json").write_text("before")
    writable_file(str(tmp_path / "old.json"))
    assert (tmp_path / "old.json").read_text() == "before"
    with pytest.raises(ArgumentTypeError, match="cannot write"):
        writable_file(str(tmp_path))


def test_a_file_is_written_whole_or_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    save_json(path, {"n": 1})
    path.chmod(0o640)
    monkeypatch.setattr(os, "fsync", stop_at_once)
    with pytest.raises(KeyboardInterrupt):
        save_json(path, {"n": 2})
    monkeypatch.undo()
    assert json.loads(path.read_text()) == {"n": 1}
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "link").symlink_to(path)
    save_text(tmp_path / "link", "text")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("text\n", 0o640)
    save_text(None, "nothing was asked for")


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with os.fdopen(os.open(tmp_path / "pipe", os.O_RDWR), "rb", 0) as reader:
        save_bytes(tmp_path / "pipe", b"weights")
        assert reader.read(100) == b"weights"
        save_text(tmp_path / "pipe", "text")
        assert reader.read(100) == b"text\n"
    assert (tmp_path / "pipe").is_fifo()
