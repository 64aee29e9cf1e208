"""The stack of Kinesis, Spark, Cassandra and S3, with the platform in its middle.

Needs `./run tools install spark moto` and Java 17 (Debian: default-jre-headless), for S3 also
`.venv/bin/pip install -e '.[s3]'`; where they are missing it is skipped, saying so. moto stands in
for AWS.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin
from uuid import uuid4

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests
from redis import Redis

from benchmarks.uploads import PATH as UPLOADS
from benchmarks.uploads import make_body
from examples.tests.cassandra_stub import read_row, running_stub
from launcher.addresses import Ports
from launcher.errors import SetupError
from launcher.folders import ROOT
from launcher.programs import PYTHON
from launcher.stack import Stack, start_stack
from launcher.tools import find_tool

pytestmark = [pytest.mark.slow, pytest.mark.long]

DATA: Final = ROOT / "var"
N_SHARDS, N_CLIENTS = 4, 8
# Of a client: what pushes at random keeps the pole up for 22 steps.
N_EPISODES: Final = 600
N_RECORDS: Final = 100_000
PER_BATCH: Final = 8_000
KILL_AT: Final = (0.15, 0.4, 0.7)
KEY: Final = "xp:{cart_pole}"
LIMIT_S: Final = 1_800.0
COLUMNS: Final = (
    *("policy_version", "episode", "step", "observation", "next_observation", "action"),
    *("reward", "terminated", "truncated", "log_prob"),
)


@pytest.fixture(scope="module")
def python() -> str:
    """Return the Python that has Spark, boto3 and the driver of Cassandra."""
    try:
        find_tool("moto", DATA)
        folder = find_tool("spark", DATA)
    except SetupError as error:
        pytest.skip(str(error))
    if shutil.which("java") is None:
        pytest.skip("needs Java 17: apt-get install default-jre-headless")
    return str(folder / "bin" / "python")


@pytest.fixture(scope="module")
def moto(python: str) -> Iterator[str]:
    """Run what stands in for AWS; return its address."""
    port = Ports.free().web
    server = DATA / "tools" / "moto" / "bin" / "moto_server"
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [server, "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as program:
        try:
            await_that(lambda: _answers(url), limit_s=60)
            yield url
        finally:
            program.kill()


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Run the platform with its stream and its sink: segments are those of one test."""
    shape: Any = {"web": True, "experience": True, "settings": {"EVALSITE_EXPERIENCE_QUOTA": "0"}}
    with start_stack(tmp_path_factory.mktemp("stack"), nodes=0, **shape) as running:
        yield running


@pytest.fixture
def token(stack: Stack) -> str:
    """Return a token that can upload and nothing else."""
    command = [PYTHON, "manage.py", "token", "spark", "--scope", "submit"]
    env = dict(stack.env)
    made = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return made.stdout.strip()


def await_that(is_so: Callable[[], bool], *, limit_s: float) -> None:
    until_s = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < until_s, f"not so after {limit_s:g} s"
        time.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/moto-api/", timeout=2).ok
    except requests.ConnectionError:
        return False


def call(python: str, *arguments: str, **environment: str) -> str:
    """Return what a program of the example prints."""
    done = subprocess.run(
        [python, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


class Kinesis:
    """A stream, and the clients that write to it."""

    def __init__(self, python: str, moto: str, name: str, n_shards: int) -> None:
        self.python, self.place = python, ("--stream", name, "--endpoint", moto)
        script = (
            "import sys; from examples.aws_stack.cloud import connect; "
            "connect('kinesis', sys.argv[1])"
            ".create_stream(StreamName=sys.argv[2], ShardCount=int(sys.argv[3]))"
        )
        call(python, "-c", script, moto, name, str(n_shards))

    def write(
        self, folder: Path, *, n_clients: int = N_CLIENTS, n_episodes: int = N_EPISODES
    ) -> list[str]:
        """Let clients play; return what each record was answered with."""
        receipts: list[str] = []
        for number in range(n_clients):
            file = folder / f"receipts-{number}"
            # One after the other: moto loses records of clients that write to one shard at once.
            call(
                *(self.python, "-m", "examples.aws_stack.client", *self.place),
                *("--episodes", str(n_episodes), "--seed", str(number), "--receipts", str(file)),
            )
            receipts += file.read_text().splitlines()
        return receipts


class Records:
    """Starts and kills the job, and reads what it has left."""

    def __init__(self, kinesis: Kinesis, stack: Stack, token: str, folder: Path) -> None:
        self._command = [
            *(kinesis.python, "-m", "examples.aws_stack.job", *kinesis.place),
            *("--out", str(folder / "out"), "--site", stack.plan.addresses()["Board"]),
            *("--per-batch", str(PER_BATCH)),
        ]
        self._env = {**os.environ, "EVALSITE_TOKEN": token}
        self._log = folder / "job.log"
        self.out, self._var = folder / "out", stack.plan.var
        self._stream_url = stack.admin_url("stream")

    def start(self, *more: str) -> "subprocess.Popen[bytes]":
        """Start the job, which goes on from its checkpoint."""
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*self._command, *more], cwd=ROOT, env=self._env, stdout=log, stderr=log
            )

    def run_until(self, n_records: float) -> None:
        """Run the job and kill it amid a batch whose records are in Parquet and half sent."""
        job = self.start()
        try:
            await_that(
                lambda: job.poll() is not None or self.count_written() > n_records, limit_s=LIMIT_S
            )
            n_chunks = self.count_chunks()
            await_that(
                lambda: job.poll() is not None or self.count_chunks() > n_chunks, limit_s=LIMIT_S
            )
            assert job.poll() is None, self.log[-3_000:]
        finally:
            self.kill(job)

    def kill(self, job: "subprocess.Popen[bytes]") -> None:
        """Kill driver, JVM and Python workers at once."""
        with suppress(psutil.NoSuchProcess):
            program = psutil.Process(job.pid)
            for process in (*program.children(recursive=True), program):
                process.kill()
        job.wait()

    @property
    def log(self) -> str:
        """Return what the job has printed in all of its lives."""
        return self._log.read_text()

    def read_parquet(self) -> pa.Table:
        """Return all records that Spark has written."""
        files = sorted((self.out / "records").glob("batch=*/*.parquet"))
        return pa.concat_tables([pq.read_table(file, partitioning=None) for file in files])

    def read_segments(self) -> pa.Table:
        """Return all steps of indexed segments."""
        with sqlite3.connect(self._var / "db.sqlite3") as database:
            paths = database.execute("SELECT path FROM experience_segment").fetchall()
        folder = self._var / "experience"
        return pa.concat_tables([pq.read_table(folder / path) for (path,) in paths])

    def count_chunks(self) -> int:
        """Return how many chunks the platform has taken."""
        with Redis.from_url(self._stream_url) as client:
            if not client.exists(KEY):
                return 0
            about: Any = client.xinfo_stream(KEY)
            return int(about["entries-added"])

    def count_stored(self) -> int:
        """Return how many steps are in indexed segments."""
        with sqlite3.connect(self._var / "db.sqlite3") as database:
            row = database.execute("SELECT coalesce(sum(n_rows), 0) FROM experience_segment")
            return int(row.fetchone()[0])

    def count_written(self) -> int:
        """Return how many records of finished batches Spark has written."""
        folders = (self.out / "records").glob("batch=*")
        done = [folder for folder in folders if (folder / "_SUCCESS").exists()]
        files = [file for folder in done for file in folder.glob("*.parquet")]
        return sum(pq.read_metadata(file).num_rows for file in files)


def sort_steps(table: pa.Table) -> dict[str, Any]:
    """Return each column as an array, in the order of episodes and steps."""
    chosen = table.select(list(COLUMNS)).sort_by([("episode", "ascending"), ("step", "ascending")])
    return {
        name: np.array(chosen[name].to_pylist(), np.float32)
        if "observation" in name
        else chosen[name].to_numpy()
        for name in COLUMNS
    }


def test_the_job_is_killed_thrice_and_each_record_is_once_in_parquet_and_segments(
    python: str, moto: str, stack: Stack, token: str, tmp_path: Path
) -> None:
    kinesis = Kinesis(python, moto, f"experience-{uuid4()}", N_SHARDS)
    receipts = kinesis.write(tmp_path)
    assert len(receipts) >= N_RECORDS
    records = Records(kinesis, stack, token, tmp_path)
    for share in KILL_AT:
        records.run_until(share * len(receipts))
    last = records.start("--until-drained")
    assert last.wait(LIMIT_S) == 0, records.log[-3_000:]
    written = records.read_parquet()
    pairs = zip(written["shard"].to_pylist(), written["sequence"].to_pylist(), strict=True)
    assert Counter(f"{shard} {sequence}" for shard, sequence in pairs) == Counter(receipts)
    assert "duplicate" in records.log
    await_that(lambda: records.count_stored() >= len(receipts), limit_s=180)
    sent, stored = sort_steps(written), sort_steps(records.read_segments())
    for name in COLUMNS:
        np.testing.assert_array_equal(sent[name], stored[name], err_msg=name)
    assert not (records.out / "checkpoint" / "forwarded" / "refused").exists()
    print("\n".join(line for line in records.log.splitlines() if " wait, " in line))


def test_what_was_read_before_is_not_read_again_to_find_the_end(
    python: str, moto: str, tmp_path: Path
) -> None:
    kinesis = Kinesis(python, moto, f"experience-{uuid4()}", 1)
    kinesis.write(tmp_path, n_clients=1, n_episodes=3)
    script = (
        "import sys; from examples.aws_stack.kinesis import *; begun = []\n"
        "class Reader(KinesisReader):\n"
        "    def _read_pages(self, shard, after, most=None):\n"
        "        begun.append(after)\n"
        "        return super()._read_pages(shard, after, most)\n"
        "options = {'stream': sys.argv[1], 'endpoint': sys.argv[2]}\n"
        "read = Reader(options)\n"
        "end = read.latestOffset(read.initialOffset(), ReadAllAvailable())\n"
        "begun.clear(); read.prepareForTriggerAvailableNow()\n"
        "print(read.latestOffset(end, ReadAllAvailable()) == end, START in begun)"
    )
    assert call(python, "-c", script, kinesis.place[1], moto).split() == ["True", "False"]


def test_cassandra_keeps_a_record_once_however_often_it_is_written(
    python: str, moto: str, stack: Stack, token: str, tmp_path: Path
) -> None:
    kinesis = Kinesis(python, moto, f"experience-{uuid4()}", 2)
    receipts = kinesis.write(tmp_path, n_clients=2, n_episodes=20)
    with running_stub() as cassandra:
        more = ("--until-drained", "--cassandra", f"127.0.0.1:{cassandra.port}")
        # The second one has another checkpoint: it begins anew.
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            records = Records(kinesis, stack, token, tmp_path / name)
            assert records.start(*more).wait(LIMIT_S) == 0, records.log[-3_000:]
        rows = [read_row(values) for values in cassandra.rows.values()]
        assert cassandra.n_inserts == 2 * len(receipts)
    assert "accepted" not in records.log
    assert sorted(f"{row['shard']} {row['sequence']}" for row in rows) == sorted(receipts)
    kept = {(row["shard"], row["sequence"]): row for row in rows}
    for record in records.read_parquet().to_pylist():
        row = kept[record["shard"], int(record["sequence"])]
        assert {name: row[name] for name in COLUMNS} == {name: record[name] for name in COLUMNS}


S3: Final = "storages.backends.s3.S3Storage"
BUCKET, RUN = "models", "poles"
SCOPES: Final = ("--scope", "submit", "--scope", "operate", "--scope", "read")


def s3_settings(moto: str) -> dict[str, str]:
    """Return the settings of a platform that keeps models and segments in S3."""
    options = {
        "bucket_name": BUCKET,
        "endpoint_url": moto,
        "region_name": "eu-west-1",
        "access_key": "stand-in",
        "secret_key": "stand-in",
        "signature_version": "s3v4",
        "addressing_style": "path",
        "default_acl": None,
        "file_overwrite": False,
        "querystring_expire": 300,
    }
    return {
        "EVALSITE_TRAINING_STORAGE": S3,
        "EVALSITE_TRAINING_OPTIONS": json.dumps(options),
        "EVALSITE_EXPERIENCE_STORAGE": S3,
        "EVALSITE_EXPERIENCE_OPTIONS": json.dumps({**options, "location": "segments"}),
    }


def ask_s3(python: str, moto: str, expression: str, *arguments: str) -> str:
    """Return what an expression of a client of S3 (`s3`) and arguments (`given`) is."""
    script = (
        "import sys; from examples.aws_stack.cloud import connect; given = sys.argv[2:]; "
        f"s3 = connect('s3', sys.argv[1]); print({expression})"
    )
    return call(python, "-c", script, moto, *arguments).strip()


@pytest.mark.skipif(find_spec("storages") is None, reason="needs .venv/bin/pip install -e '.[s3]'")
def test_models_go_to_s3_and_are_played_from_there(python: str, moto: str, tmp_path: Path) -> None:
    place = "CreateBucketConfiguration={'LocationConstraint': 'eu-west-1'}"
    ask_s3(python, moto, f"s3.create_bucket(Bucket=given[0], {place})", BUCKET)
    shape: Any = {"web": True, "experience": True, "trainers": 1, "settings": s3_settings(moto)}
    with start_stack(tmp_path, nodes=0, **shape) as stack:
        url = stack.plan.addresses()["Board"].rstrip("/")
        made = call(PYTHON, "manage.py", "token", "s3", *SCOPES, **stack.env)
        headers = {"Authorization": f"Token {made.strip()}"}
        body = {"name": RUN, "game": "cart_pole"}
        answer = requests.post(f"{url}/api/v1/runs/", json=body, headers=headers, timeout=30)
        assert answer.status_code == 201, answer.text
        chunk = {**headers, "Content-Type": "application/msgpack"}
        content = make_body(uuid4())
        sent = requests.post(f"{url}{UPLOADS}", data=content, headers=chunk, timeout=30)
        assert sent.status_code == 202, sent.text
        latest = f"{url}/api/v1/models/{RUN}/latest/"
        await_that(lambda: requests.get(latest, headers=headers, timeout=30).ok, limit_s=180)
        version = requests.get(latest, headers=headers, timeout=30).json()
        key = f"{RUN}/{version['sha256']}"
        loaded = requests.get(urljoin(url, version["url"]), timeout=30)
        assert sha256(loaded.content).hexdigest() == version["sha256"]
        keys = "[one['Key'] for one in s3.list_objects_v2(Bucket=given[0])['Contents']]"
        await_that(lambda: "segments/cart_pole/" in ask_s3(python, moto, keys, BUCKET), limit_s=180)
        assert key in ask_s3(python, moto, keys, BUCKET)
    signing = "s3.generate_presigned_url('get_object', {'Bucket': given[0], 'Key': given[1]}, 300)"
    signed = ask_s3(python, moto, signing, BUCKET, key)
    assert "X-Amz-Signature" in signed
    kinesis = Kinesis(python, moto, f"experience-{uuid4()}", 1)
    for model in (signed, f"s3://{BUCKET}/{key}"):
        more = ("--episodes", "3", "--model", model, "--version", "0")
        assert "mean return" in call(
            python, "-m", "examples.aws_stack.client", *kinesis.place, *more
        )
