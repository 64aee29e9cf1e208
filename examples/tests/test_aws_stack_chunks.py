"""Records become the same chunks whatever the batches were, and each reaches the platform once."""

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.experience.checking import check_chunk
from arena.experience.tests.made import SPEC
from arena.experience.wire import read_chunk
from examples.aws_stack.cutting import (
    Client,
    Record,
    add_records,
    build_chunk,
    count_sendable,
    name_chunk,
)
from examples.aws_stack.forwarding import Forwarder
from examples.aws_stack.uploading import Site

SHARD = "shardId-000000000000"


def make_records(lengths: list[int], *, client: str = "one", first: int = 0) -> list[Record]:
    """Return the steps of episodes of these lengths, in the order of their shard."""
    records: list[Record] = []
    for episode, length in enumerate(lengths):
        observations = np.random.default_rng(episode).standard_normal((length + 1, 4), np.float32)
        for step in range(length):
            number = len(records)
            records.append(
                {
                    "shard": SHARD,
                    "sequence": str(first + number),
                    "client": client,
                    "number": number,
                    "game": "cart_pole",
                    "policy_version": -1,
                    "episode": episode,
                    "step": step,
                    "observation": observations[step].tolist(),
                    "next_observation": observations[step + 1].tolist(),
                    "action": number % 2,
                    "reward": 1.0,
                    "terminated": step == length - 1,
                    "truncated": False,
                    "log_prob": None,
                }
            )
    return records


class Row(dict[str, Any]):
    """A row as Spark gives it."""

    def asDict(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return dict(self)


def cut(records: list[Record], sizes: list[int]) -> list[list[int]]:
    """Return the numbers of each chunk where the records come in batches of these sizes."""
    clients: dict[str, Client] = {}
    chunks: list[list[int]] = []
    for size in [*sizes, len(records)]:
        add_records(clients, records[:size])
        records = records[size:]
        for client in clients.values():
            chunks += [[one["number"] for one in chunk] for chunk in client.cut()]
    for client in clients.values():
        chunks += [[one["number"] for one in chunk] for chunk in client.cut(is_last=True)]
    return chunks


@pytest.mark.parametrize("seed", range(8))
def test_chunks_are_the_same_however_the_stream_is_cut_into_batches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    records = make_records([int(length) for length in rng.integers(1, 400, 8)])
    whole = cut(records, [])
    assert [number for chunk in whole for number in chunk] == list(range(len(records)))
    assert cut(records, [int(size) for size in rng.integers(1, 90, 12)]) == whole
    assert cut(records, [1] * 50) == whole
    for chunk in whole:
        body = build_chunk("0" * 32, [records[number] for number in chunk])
        check_chunk(read_chunk(json.dumps(body).encode(), spec=SPEC, form="json"), SPEC)
    assert all(128 <= len(chunk) <= 256 for chunk in whole[:-1])


def test_records_that_come_twice_or_in_another_order_change_nothing() -> None:
    records = make_records([150, 90, 200, 40])
    mixed = [*records[10:20], *records[:200], *records[50:60], *records[200:][::-1]]
    assert cut(mixed, [70, 100, 33]) == cut(records, [])
    client = Client(next=150)
    add_records({"one": client}, mixed)
    assert min(client.waiting) == 150


def test_a_gap_holds_back_what_follows_it() -> None:
    records = make_records([300, 300])
    assert cut(records[:130] + records[131:], []) == [list(range(130))]


def test_a_version_begins_a_chunk() -> None:
    records = make_records([40, 50, 150])
    for record in records[90:]:
        record["policy_version"] = 3
    assert [len(chunk) for chunk in cut(records, [])] == [90, 150]


@pytest.mark.parametrize(
    ("lengths", "n_cut_off", "n_sendable"),
    [([10], 0, 10), ([10], 1, 0), ([10, 20], 4, 30 - 4), ([10, 20], 10, 10), ([17], 1, 16)],
)
def test_what_is_left_at_the_end_is_what_the_platform_takes(
    lengths: list[int], n_cut_off: int, n_sendable: int
) -> None:
    rest = make_records(lengths)
    assert count_sendable(rest[: len(rest) - n_cut_off]) == n_sendable


def test_the_id_follows_from_the_place_alone() -> None:
    records = make_records([20])
    assert name_chunk("s", SHARD, records) == name_chunk("s", SHARD, make_records([20])[:20])
    others = [("t", SHARD, records), ("s", "other", records), ("s", SHARD, records[:19])]
    others += [("s", SHARD, records), ("s", SHARD, records[1:])]
    assert len({name_chunk(*other) for other in others}) == 5


class Platform(ThreadingHTTPServer):
    """Takes chunks; what it answers is drawn from `statuses` first."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.statuses: list[int] = []
        self.chunks: dict[str, dict[str, Any]] = {}
        self.tokens: set[str] = set()

    @property
    def site(self) -> Site:
        return Site(f"http://127.0.0.1:{self.server_address[1]}", "secret", limit_s=5.0)


class Answer(BaseHTTPRequestHandler):
    server: Platform

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        chunk = json.loads(gzip.decompress(body))
        self.server.tokens.add(self.headers["Authorization"])
        status = self.server.statuses.pop(0) if self.server.statuses else 0
        if not status:
            status = 200 if chunk["chunk_id"] in self.server.chunks else 202
            self.server.chunks[chunk["chunk_id"]] = chunk
        self.send_response(status)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def platform() -> Iterator[Platform]:
    with Platform() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def forward(forwarder: Forwarder, records: list[Record], batch: int) -> Any:
    (tally,) = forwarder.forward([Row(record) for record in records], batch)
    return tally


def test_a_batch_that_is_done_again_is_duplicates_and_no_doubles(
    platform: Platform, tmp_path: Path
) -> None:
    forwarder = Forwarder("stream", platform.site, tmp_path)
    records = make_records([200, 100, 300, 14])
    assert forward(forwarder, records[:250], 0).steps == {"accepted": 200}
    assert forward(forwarder, records[250:], 1).steps == {"accepted": 400}
    sent = set(platform.chunks)
    # It was killed before Spark had noted the batch.
    again = forward(Forwarder("stream", platform.site, tmp_path), records[250:], 1)
    assert again.steps == {"duplicate": 400}
    assert set(platform.chunks) == sent
    (tally,) = forwarder.finish()
    assert (tally.steps, tally.n_waiting) == ({"accepted": 14}, 0)
    (again,) = forwarder.finish()
    assert again.steps == {}
    rows = [step for chunk in platform.chunks.values() for step in chunk["observations"]]
    assert sorted(rows) == sorted(record["observation"] for record in records)
    assert platform.tokens == {"Token secret"}


def test_a_busy_platform_is_asked_again_and_a_refused_chunk_is_kept(
    platform: Platform, tmp_path: Path
) -> None:
    platform.statuses = [503, 429, 400]
    forwarder = Forwarder("stream", platform.site, tmp_path)
    records = make_records([130, 140])
    assert forward(forwarder, records, 0).steps == {"refused": 130, "accepted": 140}
    (kept,) = (tmp_path / "refused").iterdir()
    assert json.loads(kept.read_text())["chunk"]["observations"] == [
        record["observation"] for record in records[:130]
    ]


def test_a_number_that_is_none_is_kept_apart_and_ends_nothing(
    platform: Platform, tmp_path: Path
) -> None:
    records = make_records([130, 140])
    records[3]["reward"] = float("nan")
    forwarder = Forwarder("stream", platform.site, tmp_path)
    assert forward(forwarder, records, 0).steps == {"refused": 130, "accepted": 140}
    assert len(list((tmp_path / "refused").iterdir())) == 1


def test_a_token_that_is_not_taken_ends_the_batch(platform: Platform, tmp_path: Path) -> None:
    platform.statuses = [403]
    forwarder = Forwarder("stream", platform.site, tmp_path)
    with pytest.raises(RuntimeError, match="answers 403"):
        forward(forwarder, make_records([130]), 0)
    # Nothing was noted: the batch is done again.
    assert forward(forwarder, make_records([130]), 0).steps == {"accepted": 130}


def test_a_record_that_is_none_is_counted_and_passed_over(
    platform: Platform, tmp_path: Path
) -> None:
    forwarder = Forwarder("stream", platform.site, tmp_path)
    broken = {**dict.fromkeys(make_records([1])[0]), "shard": SHARD, "sequence": "9"}
    tally = forward(forwarder, [broken, *make_records([130])], 0)
    assert (tally.n_broken, tally.steps) == (1, {"accepted": 130})
