"""One player as its parent sees it: a subprocess, its channel, its memory and its matches."""

import logging
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import psutil

from workers.current_call import SIZE, CallMemory, CurrentCall, Phase
from workers.doorbells import TokenBucket
from workers.errors import ChannelError
from workers.failures import OWN_SIGNALS
from workers.progress import MatchProgress
from workers.settings import PLAYER_MB
from workers.watchdog import Activity, CallTimer, Usage
from workers.wire import SEND_LIMIT_S, Channel, Command, Message, messages

log = logging.getLogger(__name__)

KILL_LIMIT_S = 5.0
EXIT_LIMIT_S = 0.2

# The players of all pools of this process.
living_players: set[int] = set()

# What a player may know of its parent's environment: nothing secret, such as the broker's address.
# That of the fast store, EVALSITE_INFERENCE_URL, is of a user who may ask networks and no more.
_INHERITED = (
    "CUDA_VISIBLE_DEVICES", "EVALSITE_CACHE", "EVALSITE_CACHE_MB", "EVALSITE_DEADLINE_MS",
    "EVALSITE_DETERMINISTIC", "EVALSITE_INFERENCE_URL", "EVALSITE_MAX_BATCH_SIZE",
    "EVALSITE_NODE", "EVALSITE_PLUGINS", "EVALSITE_PROGRAMS", "EVALSITE_QUEUE_LIMIT",
    "EVALSITE_RETRY_AFTER_MS", "EVALSITE_SERVER_S", "EVALSITE_SHARDS", "EVALSITE_SHOWDOWN",
    "EVALSITE_SITE_URL", "HOME", "LANG", "LC_ALL",
    "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ", "VIRTUAL_ENV",
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


class PlayerProcess:
    """One player as its parent sees it."""

    def __init__(self, command: Sequence[str], *, now: float, player_mb: int = PLAYER_MB) -> None:
        """Start the subprocess; player_mb: its memory, in MiB."""
        self.doorbells = TokenBucket(now=now)
        own_socket, child_socket = socket.socketpair()
        with child_socket, tempfile.TemporaryFile() as shared:
            shared.truncate(SIZE)
            descriptors = (child_socket.fileno(), shared.fileno())
            self._subprocess = subprocess.Popen(
                [*command, *map(str, descriptors), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=descriptors,
                env={**player_environment(), "EVALSITE_PLAYER_MB": str(player_mb)},
                # A group of its own: one kill ends it with what it has started and not detached.
                start_new_session=True,
            )
            living_players.add(self.pid)
            self._call_memory = CallMemory(shared.fileno())
        self._channel = Channel(own_socket)
        self._usage = psutil.Process(self.pid)
        self.fate = "lives"
        # False when it may have been ended by somebody else.
        self.is_own_doing = True
        self.assigned: dict[int, MatchProgress] = {}
        self.block: list[int] = []
        self.begun: set[int] = set()
        # How many were assigned when it last had none to give away.
        self.n_kept = 0
        self.timer = CallTimer()
        # How long it has done nothing though it should.
        self.still_s = 0.0
        self.is_ready = self.is_broken = self.is_alone = self.is_releasing = False
        # Of the order in play.
        self.is_asked = self.is_prepared = False

    @property
    def pid(self) -> int:
        """The process id."""
        return self._subprocess.pid

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._channel.fileno()

    def send_command(self, command: Command) -> None:
        """Send a command; a player that is gone or does not read is marked as broken."""
        try:
            self._channel.send(command, limit_s=SEND_LIMIT_S)
        except ChannelError as error:
            self.is_broken = True
            log.warning("player %d takes no command: %s", self.pid, error)

    def receive_messages(self) -> list[Message]:
        """Return what the player says now; one that is gone or talks nonsense is marked broken."""
        try:
            return [messages.decode(frame) for frame in self._channel.receive(wait=False)]
        except ChannelError:
            self.is_broken = True
        except msgspec.DecodeError as error:
            self.is_broken = True
            log.warning("player %d sent what is no message: %s", self.pid, error)
        return []

    def read_call(self) -> CurrentCall:
        """Return what the player is executing, or was when it died; `block` if it is a block."""
        call = self._call_memory.read_call()
        if call.phase is Phase.BLOCK:
            self.block = self._call_memory.read_block()
            if self._call_memory.read_call() != call:  # another one began meanwhile
                self.block = []
        return call

    def read_usage(self) -> Usage | None:
        """Return what the player uses, or None when it is gone."""
        try:
            with self._usage.oneshot():
                times = self._usage.cpu_times()
                activity = _ACTIVITIES.get(self._usage.status(), Activity.HELD)
        except psutil.Error:
            return None
        return Usage(times.user + times.system, activity)

    def kill_with_children(self) -> None:
        """End the player with all it has started; `fate` says whether it had died before."""
        try:
            # One that closed its channel is about to exit: its own exit code tells more.
            code = self._subprocess.wait(EXIT_LIMIT_S if self.is_broken else 0)
            self.is_own_doing = code >= 0 or -code in OWN_SIGNALS
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
        living_players.discard(self.pid)

    def drain_messages(self) -> Iterator[Message]:
        """Yield what the dead player had sent and nobody has read."""
        self.is_broken = False
        while not self.is_broken and (unread := self.receive_messages()):
            yield from unread

    def close(self) -> None:
        """Release the descriptors."""
        self._channel.close()
        self._call_memory.close()


def player_environment() -> dict[str, str]:
    """Return what a player may know of the environment; it finds modules wherever we started."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    path = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
    return {**inherited, **_FIXED, "PYTHONPATH": path}
