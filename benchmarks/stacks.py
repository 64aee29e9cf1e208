"""Private stacks for benchmarks, seen by this process's Django, and the tournaments they play."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple, Unpack

import django
import psutil

from launcher.addresses import Ports, redis_url
from launcher.brokers import KEPT, NOT_KEPT, server_command, wait_until_up
from launcher.folders import ROOT
from launcher.programs import PYTHON
from launcher.stack import Shape, Stack, start_stack

POLL_S = 0.02
# Agents of the skill game.
LEVELS = tuple(f"level:{10 * level}" for level in range(10))


@contextmanager
def private_stack(**shape: Unpack[Shape]) -> Iterator[Stack]:
    """Run a stack, without pages by default, and let this process's Django use it; once each."""
    with (
        tempfile.TemporaryDirectory(prefix="evalsite-bench-") as folder,
        start_stack(Path(folder), **shape) as stack,
    ):
        os.environ.update(stack.env)
        os.environ["DJANGO_SETTINGS_MODULE"] = "evalsite.settings"
        django.setup()
        yield stack


def run_python(stack: Stack, *arguments: str, is_quiet: bool = False) -> None:
    """Run a command against the stack, whose data folder names address and token."""
    out = subprocess.DEVNULL if is_quiet else None
    subprocess.run([PYTHON, *arguments], cwd=ROOT, env=dict(stack.env), check=True, stdout=out)


def cpu_seconds(stack: Stack) -> dict[str, float]:
    """Return the CPU time that each program and its children have used so far, by name."""
    used: dict[str, float] = {}
    for name, pid in stack.pids().items():
        program = psutil.Process(pid)
        used[name] = add_cpu_seconds([program])
        children = program.children(recursive=True)
        if children:
            used[f"{name}, players"] = add_cpu_seconds(children)
    return used


def add_cpu_seconds(processes: Sequence[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def open_board(name: str, game: str, **options: Any) -> Any:
    from matches.ledger.tournaments import open_leaderboard  # noqa: PLC0415

    return open_leaderboard(name, game=game, **options)


def schedule_agents(
    board: Any, agents: Sequence[Any], n_matches: int, *, seed: int, **options: Any
) -> Any:
    """Schedule a tournament on a board; options are further fields of its plan.

    An agent may be given as text, the way the command line spells it.
    """
    from matches.artifacts.agents import register_spelled_agent  # noqa: PLC0415
    from matches.ledger.tournaments import schedule_tournament  # noqa: PLC0415
    from matches.plans import TournamentPlan  # noqa: PLC0415

    entrants = [
        register_spelled_agent(agent, game=board.game) if isinstance(agent, str) else agent
        for agent in agents
    ]
    plan = TournamentPlan(name=board.name, n_matches=n_matches, seed=seed, **options)
    return schedule_tournament(plan, leaderboard=board, agents=entrants)


def await_tournament(
    tournament: Any,
    *,
    limit_s: float,
    is_rated: bool = False,
    on_look: Callable[[Any], object] = lambda _: None,
) -> Any:
    """Wait until control has finished it, or as soon as all is closed and rated; return it."""
    from matches.models import Leaderboard  # noqa: PLC0415

    boards = Leaderboard.objects.filter(pk=tournament.leaderboard_id)

    def is_over() -> bool:
        tournament.refresh_from_db()
        on_look(tournament)
        if not is_rated:
            return tournament.finished_at is not None
        is_closed = tournament.n_closed == tournament.n_matches
        return bool(is_closed and boards.get().n_settled == tournament.n_done)

    wait_until(is_over, limit_s=limit_s, what=f"tournament {tournament.name}")
    return tournament


def wait_until(is_over: Callable[[], bool], *, limit_s: float, what: str) -> None:
    """Ask again and again. Raises TimeoutError naming what took longer than the limit."""
    deadline = monotonic() + limit_s
    while not is_over():
        if monotonic() > deadline:
            raise TimeoutError(f"{what} was not over after {limit_s:g} s")
        sleep(POLL_S)


@contextmanager
def run_program(
    command: Sequence[str], log: Path | None = None, **environment: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program with more variables; end it after the block."""
    with ExitStack() as stack:
        lines = stack.enter_context(log.open("w")) if log else subprocess.DEVNULL
        program = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environment}, stdout=lines, stderr=lines
        )
    try:
        yield program
    finally:
        program.terminate()
        program.wait()


class Servers(NamedTuple):
    """Addresses and processes of a broker and a fast store."""

    broker: str
    fast: str
    pids: tuple[int, ...]

    @property
    def variables(self) -> Mapping[str, str]:
        return {"REDIS_URL": self.broker, "FAST_REDIS_URL": self.fast}


@contextmanager
def run_servers(folder: Path) -> Iterator[Servers]:
    """Run both on free ports, as a stack has them; end them after the block."""
    ports, pids = Ports.free(), []
    with ExitStack() as stack:
        for name, port, options in (
            ("broker", ports.broker, KEPT),
            ("fast", ports.fast, NOT_KEPT),
        ):
            command = server_command(folder / name, port=port, options=options)
            pids.append(stack.enter_context(run_program(command)).pid)
            wait_until_up(redis_url(port), limit_s=10)
        yield Servers(redis_url(ports.broker), redis_url(ports.fast), tuple(pids))
