"""Files for TensorBoard: what was reported, once each, and taken back where a slice was lost."""

import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tensorboardX.proto.event_pb2 import Event  # type: ignore[import-untyped]

from arena.tests.test_train_messages import REPORT
from training.tensorboard import Curves


def read_events(file: Path) -> Iterator[Event]:
    """Yield what a file holds: records of a length, its checksum, the event, its checksum."""
    content = file.read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        yield Event.FromString(content[12 : 12 + length])
        content = content[16 + length :]


def draw(folder: Path, *reports: tuple[int, dict[str, float]]) -> None:
    curves = Curves(folder, "poles", clock_s=lambda: 5.0)
    for n_steps, metrics in reports:
        curves.add(msgspec.structs.replace(REPORT, n_steps=n_steps, metrics=metrics))
    curves.close()


def test_each_metric_is_a_curve_by_steps(tmp_path: Path) -> None:
    draw(
        tmp_path,
        (100, {"loss": 0.5, "lag": 1.0}),
        (100, {"loss": 0.5}),
        (50, {}),
        (200, {"loss": 0.25}),
    )
    (file,) = (tmp_path / "poles").iterdir()
    events = list(read_events(file))
    points = [
        (event.step, value.tag, value.simple_value, event.wall_time)
        for event in events
        for value in event.summary.value
    ]
    assert points == [
        (100, "lag", 1.0, 5.0), (100, "loss", 0.5, 5.0), (200, "loss", 0.25, 5.0)
    ]  # fmt: skip
    # From this step on, what an earlier file says counts no more.
    assert [event.step for event in events if event.session_log.status] == [100]


def test_nothing_is_written_where_nothing_is_reported(tmp_path: Path) -> None:
    draw(tmp_path, (100, {}))
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_none_ends_no_slice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "poles").write_text("no folder")
    draw(tmp_path, (100, {"loss": 0.5}))
    assert "metrics of run 7 are not written" in caplog.text
