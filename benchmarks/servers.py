"""How fast players play a game that game servers serve, and where the time goes.

./run bench servers [--matches N] [--json FILE]

Connect Four between random agents, over loopback: the code of two players in a process each, three
reference servers beside them; and the same matches with the rules in the players.
"""

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from arena.games.catalog import connect_four
from arena.games.served import serve_rules
from arena.messages import AgentOrder, ServerLink
from benchmarks.report import format_table, make_parser, whole_number, write_report
from benchmarks.served.servers import GAME, run_servers, write_catalog
from benchmarks.stacks import add_cpu_seconds
from workers.current_call import SIZE, CallMemory
from workers.lines.game_line import GameLine
from workers.lines.sockets import SocketTransport
from workers.lines.transport import Transport
from workers.message_buffer import MessageBuffer
from workers.order_setup import Catalogs, Setup, build_setup
from workers.runner import MatchRunner
from workers.wire import Assignment, Message, Prepare, Progress

N_PLAYERS, N_SERVERS, N_MATCHES = 2, 3, 3_000
# Of each order, as control sends them: two players with these fill three servers of 64 slots.
ORDER = 96
OPENING, SEED = 4, 7
ANSWER_S, LEAST_PER_S = 20.0, 150.0
RANDOM = AgentOrder("random", {})


class Share(NamedTuple):
    """What one player is to play, at which servers; none: by itself."""

    first: int
    n_matches: int
    addresses: Sequence[str]


class Played(NamedTuple):
    """What a player did; outcomes: returns and actions by match."""

    outcomes: dict[int, tuple[list[float], list[int]]]
    began_at: float
    ended_at: float
    cpu_s: float
    waited_s: float
    n_frames: int


class CountingTransport:
    """Counts what goes over a line both ways, and how long its player waits."""

    def __init__(self, inner: Transport, counts: Counter[str]) -> None:
        self._inner, self._counts = inner, counts

    def send(self, text: bytes) -> None:
        self._counts["frames"] += 1
        self._inner.send(text)

    def receive(self, limit_s: float) -> bytes | str:
        self._counts["frames"] += 1
        began = time.perf_counter()
        text = self._inner.receive(limit_s)
        self._counts["waited_us"] += round(1e6 * (time.perf_counter() - began))
        return text

    def receive_bytes(self, n: int, limit_s: float) -> bytes:
        return self._inner.receive_bytes(n, limit_s)

    def is_open(self) -> bool:
        return self._inner.is_open()

    def close(self) -> None:
        self._inner.close()


class Parent:
    """Takes what a player tells its parent."""

    def __init__(self) -> None:
        self.outcomes: dict[int, tuple[list[float], list[int]]] = {}
        self._actions: defaultdict[int, list[int]] = defaultdict(list)

    def send(self, message: Message) -> None:
        if not isinstance(message, Progress):
            return
        for index, action in zip(message.acted[::3], message.acted[1::3], strict=True):
            self._actions[index].append(action)
        for row in message.ended:
            if not row.ranks:
                raise RuntimeError(f"match {row.index}: {row.reason}: {row.detail}")
            self.outcomes[row.index] = (list(row.returns), self._actions.pop(row.index))


def play_share(share: Share) -> Played:
    """Play matches as a player does, order by order."""
    counts, parent = Counter[str](), Parent()
    buffer = MessageBuffer(parent)
    with tempfile.TemporaryFile() as shared:
        shared.truncate(SIZE)
        call_memory = CallMemory(shared.fileno())
        runner = MatchRunner(build_player(share, call_memory, counts), call_memory, buffer)
        began_at, cpu_s = time.time(), time.process_time()
        for first in range(share.first, share.first + share.n_matches, ORDER):
            last = min(first + ORDER, share.first + share.n_matches)
            runner.add_matches([assign(index) for index in range(first, last)])
            while runner.is_busy:
                runner.step()
            buffer.flush()
        ended_at, cpu_s = time.time(), time.process_time() - cpu_s
        call_memory.close()
    waited_s = counts["waited_us"] / 1e6
    return Played(parent.outcomes, began_at, ended_at, cpu_s, waited_s, counts["frames"])


def assign(index: int) -> Assignment:
    return Assignment(index, 1, SEED * 10**6 + index, [0, 1], [], server=index % N_SERVERS)


def build_player(share: Share, call_memory: CallMemory, counts: Counter[str]) -> Setup:
    """Return what an order of the game is built to, with a line to each of the servers."""
    links = [ServerLink(name=address, address=address, token="") for address in share.addresses]
    served = serve_rules(connect_four.GAME, id=GAME, title="Connect Four, served")

    def open_line(link: ServerLink) -> GameLine:
        return GameLine(
            lambda: CountingTransport(SocketTransport(link.address), counts),
            served.spec,
            server=link.name,
            answer_s=ANSWER_S,
            show_waiting=call_memory.show_waiting,
            clock=time.monotonic,
        )

    catalogs = Catalogs(
        game=lambda _: served if links else connect_four.GAME,
        game_version=lambda _: "",
        lines=lambda _, order: [open_line(link) for link in order],
    )
    prepare = Prepare(1, "any", 1, {}, OPENING, [RANDOM, RANDOM], None, servers=links)
    return build_setup(prepare, catalogs)


def play(n_matches: int, addresses: Sequence[str]) -> list[Played]:
    """Play matches in as many processes as there are players."""
    n = n_matches // N_PLAYERS
    shares = [Share(player * n, n, addresses) for player in range(N_PLAYERS)]
    with ProcessPoolExecutor(N_PLAYERS, mp_context=get_context("spawn")) as players:
        # Imports are no play: each process has done a few matches before.
        list(players.map(play_share, [Share(0, N_SERVERS, addresses)] * N_PLAYERS))
        return list(players.map(play_share, shares))


def measure(n_matches: int) -> dict[str, Any]:
    """Return the figures. Raises RuntimeError where served matches are not those in process."""
    with tempfile.TemporaryDirectory(prefix="evalsite-servers-") as folder, ExitStack() as around:
        plugins = write_catalog(Path(folder))
        servers = around.enter_context(run_servers(N_SERVERS, plugins=plugins))
        processes = [psutil.Process(server.process.pid) for server in servers]
        before = add_cpu_seconds(processes)
        served = play(n_matches, [server.address for server in servers])
        server_s = add_cpu_seconds(processes) - before
    here = play(n_matches, [])
    if merge_outcomes(served) != merge_outcomes(here):
        raise RuntimeError("served matches have other outcomes or actions than those in process")
    seconds = span_s(served)
    n_played = len(merge_outcomes(served))
    return {
        "matches": n_played,
        "served_per_s": round(n_played / seconds, 1),
        "in_process_per_s": round(n_played / span_s(here), 1),
        "frames_per_match": round(sum(share.n_frames for share in served) / n_played, 2),
        "cores": psutil.cpu_count(),
        "player_cpu_ms": to_ms(sum(share.cpu_s for share in served) / n_played),
        "server_cpu_ms": to_ms(server_s / n_played),
        "in_process_cpu_ms": to_ms(sum(share.cpu_s for share in here) / n_played),
        "waited_share": round(sum(share.waited_s for share in served) / N_PLAYERS / seconds, 3),
    }


def merge_outcomes(played: Sequence[Played]) -> dict[int, tuple[list[float], list[int]]]:
    return {index: outcome for share in played for index, outcome in share.outcomes.items()}


def span_s(played: Sequence[Played]) -> float:
    return max(share.ended_at for share in played) - min(share.began_at for share in played)


def to_ms(seconds: float) -> float:
    return round(1_000 * seconds, 3)


def format_figures(figures: dict[str, Any]) -> str:
    return format_table(["", "connect four"], [[name, value] for name, value in figures.items()])


def main(arguments: Sequence[str]) -> int:
    """Measure and print; exit 1 where it is slower than it must be."""
    parser = make_parser("servers", "Matches of a game that game servers serve, and in process.")
    parser.add_argument("--matches", type=whole_number(100), default=N_MATCHES, help=str(N_MATCHES))
    options = parser.parse_args(arguments)
    figures = measure(options.matches)
    write_report(format_figures(figures), figures, options.json)
    return 0 if figures["served_per_s"] >= LEAST_PER_S else 1
