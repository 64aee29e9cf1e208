"""Players upload while sink, trainer, stream and web server are killed: each chunk is kept once.

In between the stream's memory is full for a while, and so is the disk that all of the stack is on.
"""

import re
import socket
from argparse import Namespace
from collections import Counter
from http import HTTPStatus
from itertools import cycle
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import psutil
import pyarrow.parquet as pq
import requests

from benchmarks.stacks import private_stack, wait_until
from benchmarks.storm.filling import fill_disk, fill_stream, small_disk
from benchmarks.uploads import GAME, N_STEPS, PATH, make_body
from launcher.stack import Stack

KILLED = ("sink", "trainer-1", "stream", "web")
FULL_STREAM, FULL_DISK = "full stream", "full disk"
# So often each program is killed before something is full.
N_ROUNDS = 3
N_CLIENTS = 4
KILL_EVERY_S = 3.0
RUN = "chaos"
WRITTEN_S = 300.0
LEARNS_ON_S = 120.0
LINE_EVERY_S = 10.0
BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE)
ACCEPTED = (HTTPStatus.OK, HTTPStatus.ACCEPTED)


class Clients:
    """Threads that send chunks, each until it is answered; what they sent, by answer."""

    def __init__(self, url: str, token: str, *, n_steps: int) -> None:
        """n_steps: after so many accepted ones they stop."""
        self._url, self.token = url.rstrip("/"), token
        self._headers = {"Authorization": f"Token {token}"}
        self._n_chunks, self._lock = -(-n_steps // N_STEPS), Lock()
        self._version = -1
        self.stop = Event()
        self.accepted: set[str] = set()
        self.unanswered: set[str] = set()
        self.halves: set[str] = set()
        self.answers: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.refusals: list[str] = []
        self._threads = [Thread(target=self._send_many) for _ in range(N_CLIENTS)]

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Wait until all of them have ended."""
        for thread in self._threads:
            thread.join()

    @property
    def is_done(self) -> bool:
        """Say whether as much was accepted as was asked for."""
        return len(self.accepted) >= self._n_chunks

    def send_half(self) -> None:
        """Send half of a chunk and hang up, as a client does that is killed."""
        chunk_id, address = uuid4(), urlsplit(self._url)
        body = make_body(chunk_id)
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: {len(body)}\r\n"
            f"Authorization: {self._headers['Authorization']}\r\n"
            "Content-Type: application/msgpack\r\n\r\n"
        )
        self.halves.add(chunk_id.hex)
        try:
            with socket.create_connection((address.hostname, address.port), timeout=2) as server:
                server.sendall(head.encode() + body[: len(body) // 2])
        except OSError:
            self.answers["half, server away"] += 1

    def _send_many(self) -> None:
        session = requests.Session()
        session.headers.update({**self._headers, "Content-Type": "application/msgpack"})
        while not (self.stop.is_set() or self.is_done):
            self._send_until_answered(session, uuid4())

    def _send_until_answered(self, session: requests.Session, chunk_id: UUID) -> None:
        body = make_body(chunk_id, version=self._version)
        while not self.stop.is_set():
            pause_s = self._send_once(session, chunk_id, body)
            if pause_s is None:
                return
            self.stop.wait(pause_s)
        with self._lock:
            self.unanswered.add(chunk_id.hex)

    def _send_once(self, session: requests.Session, chunk_id: UUID, body: bytes) -> float | None:
        """Return None when the chunk is accepted, else after how many seconds to send it again."""
        try:
            response = session.post(f"{self._url}{PATH}", data=body, timeout=10)
        except requests.RequestException as error:
            with self._lock:
                self.answers[type(error).__name__] += 1
            return 0.2
        with self._lock:
            self.answers[str(response.status_code)] += 1
            if response.status_code in ACCEPTED:
                self._version = response.json()["latest_policy_version"]
                self.accepted.add(chunk_id.hex)
                return None
        with self._lock:
            self.reasons[_read_detail(response)] += 1
        if response.status_code not in BUSY:
            self.refusals.append(f"{response.status_code}: {response.text:.300}")
            self.stop.set()
        return min(1.0, float(response.headers.get("Retry-After", 1)))


def _read_detail(response: requests.Response) -> str:
    """Return what an answer says, without numbers: equal ones are counted together."""
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = response.text
    return f"{response.status_code}: {re.sub(r'[0-9]+', 'N', detail):.120}"


def measure_uploads(options: Namespace) -> dict[str, Any]:
    """Upload so many steps under kills; return what of them is in the segments."""
    shape: dict[str, Any] = {"web": True, "nodes": 0, "trainers": 1, "experience": True}
    settings = {"EVALSITE_EXPERIENCE_QUOTA": "0"}
    with small_disk() as disk, private_stack(**shape, settings=settings) as stack:
        token = _begin_run()
        clients = Clients(stack.plan.addresses()["Board"], token, n_steps=options.transitions)
        clients.start()
        began_s = monotonic()
        try:
            acts = _disturb_in_turn(stack, clients, disk, every_s=options.every)
        finally:
            clients.stop.set()
            clients.join()
        uploaded_s = monotonic() - began_s
        n_learned = _read_run().n_steps
        _await_segments(clients.accepted)
        figures = _count_chunks(clients)
        goes_on = _await_learning(n_learned, clients, stack)
        run = _read_run()
    return {
        "transitions": options.transitions,
        **figures,
        "kills": sum(acts[program] for program in KILLED),
        "acts": dict(acts),
        "answers": dict(clients.answers),
        "reasons": dict(clients.reasons),
        "refusals": clients.refusals,
        "seconds": round(uploaded_s, 1),
        "run_state": run.state,
        "goes_on": goes_on,
        "learned": run.n_steps,
        "versions": run.version + 1,
    }


def _begin_run() -> str:
    """Begin the run that learns; return a token to upload with."""
    from experience.runs.starting import NewRun, start_run  # noqa: PLC0415
    from matches.access.tokens import find_or_issue_token  # noqa: PLC0415
    from matches.store.auditing import COMMAND_LINE  # noqa: PLC0415
    from matches.store.clock import db_now  # noqa: PLC0415

    # Its versions are not judged: this is about what is uploaded.
    new = NewRun(RUN, GAME, max_steps=10**12, release_s=1e6, release_steps=10**11, slice_s=20.0)
    start_run(new, actor=COMMAND_LINE, now=db_now())
    return find_or_issue_token("", user="bench", name="chaos")


def _read_run() -> Any:
    from experience.models import TrainingRun  # noqa: PLC0415

    return TrainingRun.objects.get(name=RUN)


def _disturb_in_turn(
    stack: Stack, clients: Clients, disk: Path | None, *, every_s: float
) -> Counter[str]:
    """Disturb one thing after the other until enough is uploaded; return how often each was."""
    acts: Counter[str] = Counter()
    told_s = monotonic()
    # Without a disk of its own the stack would fill that of the machine.
    full_disk = [FULL_DISK] if disk else []
    for act in cycle((*KILLED * N_ROUNDS, FULL_STREAM, *KILLED * N_ROUNDS, *full_disk)):
        if clients.is_done or clients.refusals:
            return acts
        sleep(every_s)
        if act == FULL_STREAM:
            acts[act] += fill_stream(stack, every_s)
        elif act == FULL_DISK:
            assert disk is not None
            acts[act] += fill_disk(disk, every_s)
        elif (pid := stack.pids().get(act)) is not None:
            psutil.Process(pid).kill()
            acts[act] += 1
        clients.send_half()
        if monotonic() - told_s >= LINE_EVERY_S:
            told_s = monotonic()
            n_steps = N_STEPS * len(clients.accepted)
            print(f"{n_steps:,} steps accepted, {acts.total()} disturbances", flush=True)
    return acts


def _await_segments(accepted: set[str]) -> None:
    from experience.models import ChunkIndex  # noqa: PLC0415

    def is_written() -> bool:
        return ChunkIndex.objects.count() >= len(accepted)

    try:
        wait_until(is_written, limit_s=WRITTEN_S, what="writing segments")
    except TimeoutError as error:
        print(error, flush=True)  # the figures say what is missing


def _count_chunks(clients: Clients) -> dict[str, Any]:
    """Return how many steps are in no segment, and how many are there more than once."""
    from django.core.files.storage import storages  # noqa: PLC0415

    from experience.models import Segment  # noqa: PLC0415

    n_rows: Counter[str] = Counter()
    for segment in Segment.objects.all():
        with storages["experience"].open(segment.path) as file:
            chunks = pq.read_table(file, columns=["chunk"])["chunk"].to_pylist()
            n_rows.update(str(chunk) for chunk in chunks)
    sent = clients.accepted | clients.unanswered
    return {
        "accepted": N_STEPS * len(clients.accepted),
        "lost": sum(max(0, N_STEPS - n_rows[chunk]) for chunk in clients.accepted),
        "doubled": sum(max(0, n - N_STEPS) for n in n_rows.values()),
        "of_killed_clients": sum(n_rows[chunk] for chunk in clients.halves),
        "unknown": sum(n for chunk, n in n_rows.items() if chunk not in sent),
        "segments": Segment.objects.count(),
    }


def _await_learning(n_learned: int, clients: Clients, stack: Stack) -> bool:
    """Upload a little more, and say whether the run learns from it."""
    more = Clients(stack.plan.addresses()["Board"], clients.token, n_steps=16 * N_STEPS)
    more.start()
    more.join()
    try:
        wait_until(
            lambda: _read_run().n_steps > n_learned, limit_s=LEARNS_ON_S, what="going on to learn"
        )
    except TimeoutError as error:
        print(error, flush=True)
        return False
    return True


def is_sound(figures: dict[str, Any]) -> bool:
    """Say whether each accepted step is there once, nothing else, and the run goes on."""
    wrong = ("lost", "doubled", "of_killed_clients", "unknown", "refusals")
    return not any(figures[name] for name in wrong) and bool(figures["goes_on"])
