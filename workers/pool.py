"""The players of a parent: subprocesses that outlive orders and are replaced when lost."""

import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import psutil

from workers.current_call import SIZE, Beacon, Phase, Sighting
from workers.doorbells import Allowance, Ring, unheard
from workers.errors import ChannelError
from workers.orphans import end_strays
from workers.progress import Entry
from workers.settings import PLAYER_MB
from workers.watchdog import Activity, Usage, Watch
from workers.wire import SEND_LIMIT_S, Channel, Command, Message, messages

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "workers.player")
MAX_BACKOFF_S = 10.0
KILL_LIMIT_S = 5.0
EXIT_LIMIT_S = 0.2
WAIT_S = 300.0
SWEEP_S = 5.0
# What a process does itself; any other signal may have come from elsewhere, as the SIGKILL of a
# machine that is out of memory, or the SIGABRT of a library that got none.
_OWN_SIGNALS = frozenset(
    (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS, signal.SIGTRAP)
)
_living: set[int] = set()
"""The players of all crews of this process."""

# What a player may know of its parent's environment: nothing secret, such as the broker's address.
# That of the fast store, EVALSITE_INFERENCE_URL, is of a user who may ask networks and no more.
_INHERITED = (
    "CUDA_VISIBLE_DEVICES", "EVALSITE_CACHE", "EVALSITE_CACHE_MB", "EVALSITE_DEADLINE_MS",
    "EVALSITE_DETERMINISTIC", "EVALSITE_INFERENCE_URL", "EVALSITE_MAX_BATCH_SIZE",
    "EVALSITE_NODE", "EVALSITE_PLUGINS", "EVALSITE_QUEUE_LIMIT", "EVALSITE_RETRY_AFTER_MS",
    "EVALSITE_SHARDS", "EVALSITE_SITE_URL", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH",
    "TMPDIR", "TZ", "VIRTUAL_ENV",
)  # fmt: skip
# One thread per player, as the slots share the cores; and the same hash order in every player.
_FIXED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
_ROOT = str(Path(__file__).parents[1])
_ACTIVITIES = {
    psutil.STATUS_RUNNING: Activity.COMPUTING,
    psutil.STATUS_SLEEPING: Activity.SLEEPING,
    psutil.STATUS_IDLE: Activity.SLEEPING,
}


class Player:
    """One player as its parent sees it."""

    def __init__(self, command: Sequence[str], *, now: float, player_mb: int = PLAYER_MB) -> None:
        """Start the subprocess; player_mb: its memory, in MiB."""
        self.allowance = Allowance(now=now)
        ours, theirs = socket.socketpair()
        with theirs, tempfile.TemporaryFile() as shared:
            shared.truncate(SIZE)
            descriptors = (theirs.fileno(), shared.fileno())
            self._subprocess = subprocess.Popen(
                [*command, *map(str, descriptors), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=descriptors,
                env={**_environment(), "EVALSITE_PLAYER_MB": str(player_mb)},
                # A group of its own: one kill ends it with what it has started and not detached.
                start_new_session=True,
            )
            _living.add(self.pid)
            self._beacon = Beacon(shared.fileno())
        self._channel = Channel(ours)
        self._usage = psutil.Process(self.pid)
        self.fate = "lives"
        self.is_own_doing = True
        """False when it may have been ended by somebody else."""
        self.hand: dict[int, Entry] = {}
        self.block: list[int] = []
        self.begun: set[int] = set()
        self.n_kept = 0
        """Matches in hand when it last had none to give away."""
        self.watch = Watch()
        self.still_s = 0.0
        """How long it has done nothing though it should."""
        self.is_ready = self.is_prepared = self.is_alone = self.is_releasing = False
        self.is_broken = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self._subprocess.pid

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._channel.fileno()

    def send(self, command: Command) -> None:
        """Send a command; a player that is gone or does not read is marked as broken."""
        try:
            self._channel.send(command, limit_s=SEND_LIMIT_S)
        except ChannelError as error:
            self.is_broken = True
            log.warning("player %d takes no command: %s", self.pid, error)

    def receive(self) -> list[Message]:
        """Return what the player says now; one that is gone or talks nonsense is marked broken."""
        try:
            return [messages.decode(frame) for frame in self._channel.receive(wait=False)]
        except ChannelError:
            self.is_broken = True
        except msgspec.DecodeError as error:
            self.is_broken = True
            log.warning("player %d sent what is no message: %s", self.pid, error)
        return []

    def sighting(self) -> Sighting:
        """Return what the player is executing, or was when it died; `block` if it is a block."""
        sighting = self._beacon.read()
        if sighting.phase is Phase.BLOCK:
            self.block = self._beacon.read_block()
            if self._beacon.read() != sighting:  # another one began meanwhile
                self.block = []
        return sighting

    def usage(self) -> Usage | None:
        """Return what the player uses, or None when it is gone."""
        try:
            with self._usage.oneshot():
                times = self._usage.cpu_times()
                activity = _ACTIVITIES.get(self._usage.status(), Activity.HELD)
        except psutil.Error:
            return None
        return Usage(times.user + times.system, activity)

    def kill(self) -> None:
        """End the player with all it has started; `fate` says whether it had died before."""
        try:
            # One that closed its channel is about to exit: its own exit code tells more.
            code = self._subprocess.wait(EXIT_LIMIT_S if self.is_broken else 0)
            self.is_own_doing = code >= 0 or -code in _OWN_SIGNALS
            self.fate = (
                f"died by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
            )
        except subprocess.TimeoutExpired:
            self.fate = "had to be killed"
        try:
            os.killpg(self.pid, signal.SIGKILL)
            self._subprocess.wait(KILL_LIMIT_S)
        except ProcessLookupError:
            log.debug("player %d is gone already", self.pid)
        except subprocess.TimeoutExpired:
            log.error("player %d does not die: it hangs in the kernel", self.pid)
        _living.discard(self.pid)

    def last_words(self) -> Iterator[Message]:
        """Yield what the dead player had sent and nobody has read."""
        self.is_broken = False
        while not self.is_broken and (heard := self.receive()):
            yield from heard

    def close(self) -> None:
        """Release the descriptors."""
        self._channel.close()
        self._beacon.close()


class Crew:
    """A fixed number of players; a lost one is replaced by a fresh one."""

    def __init__(
        self,
        n_players: int,
        *,
        command: Sequence[str] = COMMAND,
        clock: Callable[[], float] = time.monotonic,
        ring: Ring = unheard,
        wait_s: float = WAIT_S,
        player_mb: int = PLAYER_MB,
    ) -> None:
        """Start nobody yet.

        wait_s: how long a player may wait at a time for what is computed or kept elsewhere;
        player_mb: the memory of each player, in MiB.
        """
        self.players: list[Player] = []
        self.n_orders = 0
        self.wait_s, self._ring, self._player_mb = wait_s, ring, player_mb
        self._n_players, self._command, self._clock = n_players, command, clock
        self._selector = selectors.DefaultSelector()
        # Players that died before they were ready: a node that cannot start any must not spin.
        self._n_stillborn, self._start_at = 0, 0.0
        self._sweep_at = clock() + SWEEP_S

    @property
    def is_failing(self) -> bool:
        """True while players die before they are ready."""
        return self._n_stillborn > 0

    def fill(self) -> None:
        """Start the players that are missing."""
        while len(self.players) < self._n_players and self._clock() >= self._start_at:
            player = Player(self._command, now=self._clock(), player_mb=self._player_mb)
            self._selector.register(player, selectors.EVENT_READ, player)
            self.players.append(player)

    def wait(self, limit_s: float) -> list[Player]:
        """Return the players that have something to say, after at most limit_s seconds."""
        return [key.data for key, _ in self._selector.select(limit_s)]

    def welcome(self, player: Player) -> None:
        """Note that a player has started."""
        player.is_ready = True
        self._n_stillborn = 0

    def ring(self, player: Player, shard: int, lease: str) -> None:
        """Pass a doorbell on, unless the player rings too often."""
        if player.allowance.take(self._clock()):
            self._ring(shard, lease)
        else:
            log.warning("player %d rings too often: shard %d is not rung", player.pid, shard)

    def dismiss(self, player: Player) -> None:
        """Kill a player; its last words and its beacon can still be read until it is closed."""
        self._remove(player)
        if not player.is_ready:
            self._n_stillborn += 1
            delay_s = min(MAX_BACKOFF_S, 0.1 * 2 ** min(self._n_stillborn, 10))
            self._start_at = self._clock() + delay_s
            log.error("player %d %s before it was ready", player.pid, player.fate)

    def _remove(self, player: Player) -> None:
        self.players.remove(player)
        self._selector.unregister(player)
        player.kill()
        self.end_strays(with_children=False)

    def sweep(self) -> None:
        """End what agents have left behind, if nobody has looked for it for some seconds."""
        if self._clock() >= self._sweep_at:
            self.end_strays(with_children=False)

    def end_strays(self, *, with_children: bool) -> None:
        """End what agents have left behind; with_children: also what players now have started."""
        self._sweep_at = self._clock() + SWEEP_S
        end_strays(_living, with_children=with_children)

    def close(self) -> None:
        """End all players."""
        for player in list(self.players):
            self._remove(player)
            player.close()
        self.end_strays(with_children=True)


def _environment() -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    path = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
    return {**inherited, **_FIXED, "PYTHONPATH": path}
