"""The processes of the stack: one place that says how each is started."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arena.games.showdown.installed import VARIABLE as SHOWDOWN
from arena.needs import list_installed
from arena.programs import VARIABLE as PROGRAM_LIST
from arena.queues import (
    TRAIN_QUEUE,
    TRAINED_QUEUE,
    gpu_queue,
    play_queue,
    recorder_name,
    reports_queue,
)

PYTHON = sys.executable
# Ratings are promised to the last bit with one BLAS thread; more threads also fight for the cores.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
CAPABILITIES = "EVALSITE_CAPABILITIES"
# What a play node may know of the environment besides the broker's address and its own name.
NODE_VARIABLES = (
    "EVALSITE_ACTIONS_S",
    "EVALSITE_ALIVE_S",
    CAPABILITIES,
    "EVALSITE_CLASS",
    "EVALSITE_LABELS",
    "EVALSITE_NOTICES",
    "EVALSITE_NOTICES_URL",
    "EVALSITE_NOTICE_S",
    "EVALSITE_PLAYER_MB",
    "EVALSITE_PLUGINS",
    "EVALSITE_PRICE",
    PROGRAM_LIST,
    "EVALSITE_REPORT_S",
    "EVALSITE_SERVER_S",
    SHOWDOWN,
)
# What clients and servers of the inference queue must agree on, and what only the servers read.
INFERENCE_VARIABLES = (
    "EVALSITE_DEADLINE_MS",
    "EVALSITE_DETERMINISTIC",
    "EVALSITE_QUEUE_LIMIT",
    "EVALSITE_RETRY_AFTER_MS",
    "EVALSITE_SHARDS",
)
GPU_VARIABLES = (
    *INFERENCE_VARIABLES,
    "EVALSITE_ALIVE_S",
    "EVALSITE_CACHE_MB",
    "EVALSITE_CLASS",
    "EVALSITE_COMPILE",
    "EVALSITE_DEVICE",
    "EVALSITE_LABELS",
    "EVALSITE_LEASE_MS",
    "EVALSITE_PRICE",
    "EVALSITE_LINGER_MS",
    "EVALSITE_MAX_BATCH_SIZE",
    "EVALSITE_MAX_DRAINERS",
    "EVALSITE_MAX_WAIT_MS",
    "EVALSITE_METRICS_HOST",
    "EVALSITE_METRICS_PORT",
    "EVALSITE_PLUGINS",
    "EVALSITE_PRECISION",
    "EVALSITE_SERVES",
    "EVALSITE_SLICE_MS",
    "EVALSITE_THREADS",
)
TRAINER_VARIABLES = ("EVALSITE_PLUGINS", "EVALSITE_TENSORBOARD")
# Those of discovery have the names that users of SkyPilot know.
HEAD_VARIABLES = (
    *INFERENCE_VARIABLES,
    "CHECKPOINT_BUCKET",
    "EVALSITE_GAME_SERVERS",
    "EVALSITE_GAME_SERVERS_DNS",
    "EVALSITE_HEAD_ADDRESS",
    "EVALSITE_OPENENV_SERVERS",
    "EVALSITE_PLUGINS",
    "EVALSITE_PROXIES",
    "EVALSITE_SERVER_NETWORKS",
    "GAME_SERVER_PORT",
    "GAME_SERVER_PREFIX",
    "SKYPILOT_API_SERVER_ENDPOINT",
    "SKYPILOT_API_SERVER_SERVICE_ACCOUNT_TOKEN",
)
# What a task is about and what came of it; tokens are in neither (arena.messages.described).
FLOWER_COLUMNS = "name,args,result,state,received,runtime,worker"
QUIET_CELERY = ("--without-gossip", "--without-mingle")


@dataclass(frozen=True)
class Program:
    """One process that the supervisor keeps alive."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_wait_s: int = 8


def celery(app: str, *arguments: str) -> tuple[str, ...]:
    """Return the command of a Celery program."""
    return (PYTHON, "-m", "celery", "-A", app, *arguments)


def worker(app: str, name: str, queue: str, pool: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command of a Celery worker; several queues stand behind each other with commas."""
    flags = (*pool, "-Q", queue, "-n", f"{name}@%h", "-E", "-l", "WARNING", *QUIET_CELERY)
    return celery(app, "worker", *flags)


def web(host: str, port: int, *, environment: Mapping[str, str]) -> Program:
    """Return the web server; open WebSockets may not hold up its end."""
    server = ("--host", host, "--port", str(port), "--no-access-log", "--lifespan", "off")
    # Nothing that is pushed is compressed: that would be done again for each viewer.
    sockets = ("--ws-max-size", "65536", "--ws-per-message-deflate", "false")
    # uvicorn would believe X-Forwarded-For of anybody on loopback: EVALSITE_PROXIES says whom.
    bounds = (*sockets, "--no-proxy-headers", "--timeout-graceful-shutdown", "3")
    command = (PYTHON, "-m", "uvicorn", "evalsite.asgi:application", *server, *bounds)
    return Program("web", command, environment)


def control(environment: Mapping[str, str], *, takes_training: bool = False) -> Program:
    """Return relay, sweeper, rater and tournaments; with experience it hears trainers, too."""
    pool = ("-P", "threads", "-c", "2")
    queues = f"control,{TRAINED_QUEUE}" if takes_training else "control"
    return Program("control", worker("evalsite", "control", queues, pool), environment)


def beat(environment: Mapping[str, str]) -> Program:
    """Return the clock that ticks the relay."""
    return Program("beat", celery("evalsite", "beat", "--pidfile=", "-l", "WARNING"), environment)


def recorder(shard: int, environment: Mapping[str, str]) -> Program:
    """Return the one consumer of the reports of a shard of the tournaments."""
    name = recorder_name(shard)
    command = worker("evalsite", name, reports_queue(shard), ("-P", "solo"))
    return Program(name, command, environment)


def node_name(number: int) -> str:
    """Return the name of a node that runs on this machine."""
    return f"node-{number}"


def play_node(number: int, *, slots: int, environment: Mapping[str, str]) -> Program:
    """Return a play node; it gets its own secrets and no other's, no database, no Django."""
    name = node_name(number)
    capabilities = environment.get(CAPABILITIES) or ",".join(
        list_installed(os.environ | environment)
    )
    own = {"EVALSITE_NODE": name, "EVALSITE_SLOTS": str(slots)}
    own[CAPABILITIES] = capabilities
    command = worker("workers", name, play_queue(name), ("-P", "solo"))
    return Program(name, command, {**environment, **own}, stop_wait_s=10)


def gpu_worker(number: int, *, shards: int, environment: Mapping[str, str]) -> Program:
    """Return a server of networks."""
    # Threads and no forks: CUDA does not survive one. Two of them, so that a check, which waits for
    # a process of its own, holds up no answer; forwards take turns.
    name = f"gpu-{number}"
    pool = ("-P", "threads", "-c", "2", "--prefetch-multiplier", "1")
    queues = ",".join(gpu_queue(shard) for shard in range(shards))
    command = worker("inference", name, queues, pool)
    own = {"EVALSITE_GPU": name}
    port = environment.get("EVALSITE_METRICS_PORT", "")
    if port.isdecimal() and int(port):
        own["EVALSITE_METRICS_PORT"] = str(int(port) + number - 1)  # each opens one of its own
    return Program(name, command, {**environment, **own}, stop_wait_s=10)


def sink(environment: Mapping[str, str]) -> Program:
    """Return what writes the chunks of the stream to segments."""
    return Program("sink", (PYTHON, "manage.py", "sink"), environment)


def trainer(number: int, *, environment: Mapping[str, str]) -> Program:
    """Return a trainer; it gets its own secrets and no other's, no database, no Django."""
    name = f"trainer-{number}"
    command = worker("training", name, TRAIN_QUEUE, ("-P", "solo"))
    return Program(name, command, {**environment, "EVALSITE_TRAINER": name}, stop_wait_s=10)


def head(host: str, port: int, *, environment: Mapping[str, str]) -> Program:
    """Return the evaluation head: it knows the game servers and answers for agents."""
    command = (PYTHON, "-m", "gameservers", "eval_head", "--host", host, "--port", str(port))
    return Program("head", command, environment)


def flower(host: str, port: int, *, var: Path, environment: Mapping[str, str]) -> Program:
    """Return the monitor of Celery; it gets its user of the broker, no database, no secret key."""
    # Its login comes by the variable FLOWER_BASIC_AUTH: arguments can be seen by everybody.
    options = (
        "--persistent=True",
        f"--db={var / 'flower.db'}",
        f"--tasks-columns={FLOWER_COLUMNS}",
    )
    command = celery("evalsite.monitor", "flower", f"--address={host}", f"--port={port}", *options)
    return Program("flower", command, environment)
