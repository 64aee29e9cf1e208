"""What `game_server` serves is what a player plays by itself, to the last byte of a trajectory."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from hashlib import sha256
from io import BytesIO

import pyarrow as pa
import pytest

from arena.games import registry
from arena.games.base import Game
from arena.games.served import serve_rules
from arena.messages import AgentOrder, Ending, ServerLink
from arena.trajectories import TrajectorySpec, read_parquet, split_episodes
from benchmarks.served.servers import ReferenceServer
from workers.lines.opening import Lines
from workers.message_buffer import MessageBuffer
from workers.order_setup import Catalogs, build_setup
from workers.recorder import Recorder
from workers.runner import MatchRunner
from workers.tests.runners import PlayerReports, new_lookout
from workers.trajectory_recorder import TrajectoryRecorder
from workers.wire import Assignment, Prepare

pytestmark = [pytest.mark.slow, pytest.mark.long]

N_MATCHES, ORDER = 500, 100
AGENTS = [AgentOrder("random", {}), AgentOrder("random", {})]
Outcome = tuple[Ending, list[int], list[float]]


@contextmanager
def run_servers(game: str) -> Iterator[list[ServerLink]]:
    """Run two servers of a game of the catalog."""
    with ExitStack() as around:
        servers = [
            around.enter_context(ReferenceServer(name, game=game)) for name in ("sim-1", "sim-2")
        ]
        yield [ServerLink(one.name, one.address, "") for one in servers]


class Play:
    """What a player makes of matches: how they ended, their actions and their trajectories."""

    def __init__(self, game: Game, servers: Sequence[ServerLink]) -> None:
        self._game, self._servers = game, servers
        self._lines = Lines(os.environ, show_waiting=nullcontext)
        self.outcomes: dict[int, Outcome] = {}
        self.actions: dict[int, list[int]] = {}
        self.trajectories: dict[int, pa.Table] = {}
        for first in range(0, N_MATCHES, ORDER):
            self._play_order(first)

    def _play_order(self, first: int) -> None:
        reports, lookout = PlayerReports(), new_lookout()
        buffer = MessageBuffer(reports)
        catalogs = Catalogs(
            game=lambda _: self._game,
            game_version=lambda _: "",
            lines=self._lines.open_lines,
            recorder=self._record,
        )
        prepare = Prepare(
            1, "any", 1, {}, self._game.spec.opening_plies, AGENTS, None,
            trajectories="/files/", servers=list(self._servers),
        )  # fmt: skip
        runner = MatchRunner(build_setup(prepare, catalogs), lookout, buffer)
        runner.add_matches([self._assign(number) for number in range(first, first + ORDER)])
        while runner.is_busy:
            runner.step()
            runner.report_stored()
        buffer.flush()
        lookout.close()
        for number, row in reports.ended.items():
            self.outcomes[number] = (row.ending, row.ranks, list(row.returns))
        self.actions |= reports.actions

    def _assign(self, number: int) -> Assignment:
        server = number % max(1, len(self._servers))
        return Assignment(number, 1, 7_000 + number, [0, 1], [], number, server)

    def _record(self, prepare: Prepare, game: Game) -> Recorder:
        return TrajectoryRecorder(TrajectorySpec.of_game(game.spec), prepare.agents, self._keep)

    def _keep(self, piece: bytes) -> str:
        # Which matches share a piece follows the time that they take.
        self.trajectories |= split_episodes(read_parquet(BytesIO(piece)))
        return sha256(piece).hexdigest()


@pytest.mark.parametrize("name", ["connect_four", "leduc_poker"])
def test_served_matches_are_those_in_process(name: str) -> None:
    rules = registry.get(name)
    here = Play(rules, [])
    with run_servers(name) as servers:
        there = Play(serve_rules(rules, id=name, title=name), servers)
    assert {outcome[0] for outcome in here.outcomes.values()} == {Ending.DONE}
    assert there.outcomes == here.outcomes
    assert there.actions == here.actions
    assert sorted(here.trajectories) == list(range(N_MATCHES))
    others = [
        n for n, steps in here.trajectories.items() if not there.trajectories[n].equals(steps)
    ]
    assert not others
