"""The plain way: a Celery task per request, its answer in Redis; base64 in JSON, one forward each.

    celery -A benchmarks.serving.celery_server worker

With one process and else as Celery comes. Solo pool, prefetching 16, no gossip, mingle or heartbeat
were tried: within the noise.
"""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.serving.askers import FORWARD_TASK, celery_app
from benchmarks.serving.forward import forwards
from benchmarks.serving.load import Served
from launcher.folders import ROOT

URL, PATHS = "BENCH_CELERY_URL", "BENCH_CELERY_PATHS"

app = celery_app(os.environ.get(URL, ""))
_networks = forwards(
    {name: Path(path) for name, path in json.loads(os.environ.get(PATHS, "{}")).items()}
)


@app.task(name=FORWARD_TASK)
def forward(network: str, observations: str) -> str:
    packed = bytearray(base64.b64decode(observations))
    return base64.b64encode(_networks[network].of_bytes(packed).tobytes()).decode()


@contextmanager
def celery_server(url: str, paths: Mapping[str, Path], log: Path) -> Iterator[Served]:
    """Run the worker; yield what to read of it."""
    named = json.dumps({name: str(path) for name, path in paths.items()})
    command = [sys.executable, "-m", "celery", "-A", "benchmarks.serving.celery_server", "worker"]
    with log.open("w") as lines:
        worker = subprocess.Popen(
            [*command, "--concurrency", "1", "--loglevel", "WARNING"],
            cwd=ROOT,
            env={**os.environ, URL: url, PATHS: named},
            stdout=lines,
            stderr=lines,
        )
    try:
        yield Served(lambda: (worker.pid,))
    finally:
        worker.terminate()
        worker.wait()
