"""The players of a parent: subprocesses that outlive orders and are replaced when lost."""

import logging
import selectors
import sys
import time
from collections.abc import Callable, Sequence

from workers.doorbells import Ring, ignore_doorbell
from workers.orphans import end_orphans
from workers.player_process import PlayerProcess, living_players
from workers.settings import PLAYER_MB, count_cores

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "workers.player")
MAX_BACKOFF_S = 10.0
WAIT_S = 300.0
SWEEP_S = 5.0


class PlayerPool:
    """A fixed number of players; a lost one is replaced by a fresh one."""

    def __init__(
        self,
        n_players: int,
        *,
        command: Sequence[str] = COMMAND,
        clock: Callable[[], float] = time.monotonic,
        ring: Ring = ignore_doorbell,
        wait_s: float = WAIT_S,
        player_mb: int = PLAYER_MB,
        n_cores: int | None = None,
    ) -> None:
        """Start nobody yet.

        wait_s: how long a player may wait at a time for what is computed or kept elsewhere;
        player_mb: the memory of each player, in MiB; n_cores: those of this machine, unless given.
        """
        self.players: list[PlayerProcess] = []
        self.n_orders = 0
        self.wait_s, self._ring, self._player_mb = wait_s, ring, player_mb
        self.n_cores = n_cores or count_cores()
        self._n_players, self._command, self._clock = n_players, command, clock
        self._selector = selectors.DefaultSelector()
        # Players that died before they were ready: a node that cannot start any must not spin.
        self._n_stillborn, self._start_at = 0, 0.0
        self._sweep_at = clock() + SWEEP_S

    @property
    def is_failing(self) -> bool:
        """True while players die before they are ready."""
        return self._n_stillborn > 0

    def start_missing_players(self) -> None:
        """Start the players that are missing."""
        while len(self.players) < self._n_players and self._clock() >= self._start_at:
            player = PlayerProcess(self._command, now=self._clock(), player_mb=self._player_mb)
            self._selector.register(player, selectors.EVENT_READ, player)
            self.players.append(player)

    def wait_for_messages(self, limit_s: float) -> list[PlayerProcess]:
        """Return the players that have something to say, after at most limit_s seconds."""
        return [key.data for key, _ in self._selector.select(limit_s)]

    def note_ready(self, player: PlayerProcess) -> None:
        """Note that a player has started."""
        player.is_ready = True
        self._n_stillborn = 0

    def pass_doorbell_on(self, player: PlayerProcess, shard: int, lease: str) -> None:
        """Pass a doorbell on, unless the player rings too often."""
        if player.doorbells.take_token(self._clock()):
            self._ring(shard, lease)
        else:
            log.warning("player %d rings too often: shard %d is not rung", player.pid, shard)

    def dismiss_player(self, player: PlayerProcess) -> None:
        """Kill a player; its last messages and call can still be read until it is closed."""
        self._kill_player(player)
        if not player.is_ready:
            self._n_stillborn += 1
            delay_s = min(MAX_BACKOFF_S, 0.1 * 2 ** min(self._n_stillborn, 10))
            self._start_at = self._clock() + delay_s
            log.error("player %d %s before it was ready", player.pid, player.fate)

    def _kill_player(self, player: PlayerProcess) -> None:
        self.players.remove(player)
        self._selector.unregister(player)
        player.kill_with_children()
        self.end_orphans(with_children=False)

    def sweep_orphans(self) -> None:
        """End what agents have left behind, if nobody has looked for it for some seconds."""
        if self._clock() >= self._sweep_at:
            self.end_orphans(with_children=False)

    def end_orphans(self, *, with_children: bool, spared: Sequence[str] = ()) -> None:
        """End what agents have left behind; with_children: also what players now have started.

        spared: the command of one child that each player may keep.
        """
        self._sweep_at = self._clock() + SWEEP_S
        end_orphans(living_players, with_children=with_children, spared=spared)

    def close(self) -> None:
        """End all players."""
        for player in list(self.players):
            self._kill_player(player)
            player.close()
        self.end_orphans(with_children=True)
