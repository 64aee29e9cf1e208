"""PostgreSQL is killed while matches are played: they wait for it, and nothing is lost."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil
import psycopg
import pytest

from benchmarks.storm.servers import run_postgres
from launcher.folders import ROOT
from launcher.stack import Stack, start_stack
from tests.commands import command_line

pytestmark = [pytest.mark.slow, pytest.mark.long]
N_MATCHES, AWAY_S, LIMIT_S = 400, 12, 180


def count_done(url: str) -> int:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT count(*) FROM matches_outcome").fetchall()
    return int(rows[0][0])


def kill_server(folder: Path) -> Sequence[str]:
    """Kill the server with all of its processes, as a machine that stops; return its command."""
    lock = folder / "postmaster.pid"
    server = psutil.Process(int(lock.read_text().split()[0]))
    command, processes = server.cmdline(), [server, *server.children(recursive=True)]
    os.kill(server.pid, signal.SIGKILL)
    psutil.wait_procs(processes, timeout=10)
    lock.unlink(missing_ok=True)
    return command


@contextmanager
def serving(command: Sequence[str], *, owner: int) -> Iterator[None]:
    """Run a server of the database again; end it with all that is connected."""
    with subprocess.Popen(
        command, user=owner, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            yield
        finally:
            server.send_signal(signal.SIGINT)


def ask_page(stack: Stack) -> int:
    try:
        with urlopen(f"{stack.plan.addresses()['Board']}leaderboards/", timeout=10) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def wait_for_results(url: str, n: int) -> None:
    end = monotonic() + LIMIT_S
    while count_done(url) < n:
        assert monotonic() < end, f"fewer than {n} matches are recorded"
        sleep(0.2)


def test_matches_wait_for_a_database_that_was_killed(tmp_path: Path) -> None:
    folder, var = tmp_path / "postgres", tmp_path / "var"
    with run_postgres(folder) as url:
        settings = {"DATABASE_URL": url}
        with ExitStack() as begun:
            stack = start_stack(var, nodes=2, slots=1, web=True, settings=settings)
            begun.enter_context(stack)
            programs = stack.pids()
            slow = ("--num-matches", str(N_MATCHES), "--game-parameter", "duration_s=0.02")
            command = command_line("evaluate", "--seed", "1", *slow)
            with subprocess.Popen(
                command, cwd=ROOT, env=dict(stack.env), stdout=subprocess.PIPE, text=True
            ) as evaluate:
                wait_for_results(url, 20)
                server = kill_server(folder)
                assert ask_page(stack) == 503
                sleep(AWAY_S)
                assert evaluate.poll() is None, "it was over before the server was killed"
                begun.enter_context(serving(server, owner=folder.stat().st_uid))
                printed, _ = evaluate.communicate(timeout=LIMIT_S)
            assert evaluate.returncode == 0, printed
            assert f"Completed {N_MATCHES} of which forfeits 0" in printed
            assert "Errors (void) 0" in printed
            assert count_done(url) == N_MATCHES
            assert ask_page(stack) == 200
            assert stack.pids() == programs
