"""Look for a notice every two seconds, in a thread of its own; the first one starts the drain."""

import logging
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from workers.errors import NoticeError
from workers.notices.aws import Aws
from workers.notices.azure import Azure
from workers.notices.base import ADDRESS, Cloud, Metadata, Notice
from workers.notices.gcp import Gcp

log = logging.getLogger(__name__)

OFF, AUTO = "off", "auto"
CLOUDS: Mapping[str, Callable[[Metadata], Cloud]] = {"aws": Aws, "gcp": Gcp, "azure": Azure}
CHOICES = (*CLOUDS, AUTO, OFF)
EVERY_S = 2.0
# The shortest notice is half a minute, so that what failed is tried again well within it.
AFTER_ERROR_S = 10.0


class DetectedCloud:
    """The cloud whose address answers: until one does, all are asked at each look."""

    name = AUTO

    def __init__(self, clouds: Sequence[Cloud]) -> None:
        self._clouds = clouds
        self._cloud: Cloud | None = None

    def is_here(self) -> bool:
        """Return True once one has answered. Raises NoticeError before."""
        self._cloud = self._cloud or self._detect_cloud()
        return True

    def read_notice(self) -> Notice | None:
        """Return the notice of the cloud that answers. Raises NoticeError when none does."""
        self._cloud = self._cloud or self._detect_cloud()
        return self._cloud.read_notice()

    def _detect_cloud(self) -> Cloud:
        for cloud in self._clouds:
            with suppress(NoticeError):
                if cloud.is_here():
                    log.info("notices come from %s", cloud.name)
                    return cloud
        raise NoticeError(f"none of {', '.join(cloud.name for cloud in self._clouds)} answers")


def choose_cloud(choice: str, address: str = ADDRESS) -> Cloud | None:
    """Return the cloud that EVALSITE_NOTICES names; None where it is off."""
    if choice == OFF:
        return None
    if choice == AUTO:
        return DetectedCloud([make(Metadata(address)) for make in CLOUDS.values()])
    return CLOUDS[choice](Metadata(address))


def send_sigterm() -> None:
    """Have this process stop as SIGTERM stops it."""
    # To the main thread, which sets aside what it waits for; a thread's own signal would not do.
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)


class NoticeWatcher:
    """Watches one cloud; whatever it answers, nothing is raised here."""

    def __init__(
        self, cloud: Cloud, drain: Callable[[], object] = send_sigterm, *, every_s: float = EVERY_S
    ) -> None:
        self._cloud, self._drain, self._every_s = cloud, drain, every_s
        self._is_closed = threading.Event()
        self._standing = ""
        self._trouble = ""
        self._thread = threading.Thread(target=self._watch_notices, name="notices", daemon=True)

    def hold_start(self, is_stopping: Callable[[], object]) -> None:
        """Wait while the machine is about to go, so that a node started again takes no order."""
        notice = self.look()
        while notice is not None and notice.is_final and not is_stopping():
            log.warning("no order is taken, the machine goes: %s", notice.reason)
            self._is_closed.wait(self._every_s)
            notice = self.look()
        # A recommendation that stands already is not followed twice: the machine may live for long.
        self._standing = notice.key if notice else ""

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """Stop watching, without waiting for an answer that is under way."""
        self._is_closed.set()

    def look(self) -> Notice | None:
        """Return the notice that stands; None also where no answer can be had."""
        try:
            notice = self._cloud.read_notice()
        except NoticeError as error:
            if not self._trouble:  # said once, not at each look
                log.warning("no notices of %s for now: %s", self._cloud.name, error)
            self._trouble = str(error)
            return None
        if self._trouble:
            log.info("notices of %s can be read", self._cloud.name)
        self._trouble = ""
        return notice

    def _watch_notices(self) -> None:
        while not self._is_closed.wait(AFTER_ERROR_S if self._trouble else self._every_s):
            notice = self.look()
            if notice is not None and notice.key != self._standing:
                log.warning("the node stops: %s", notice.reason)
                self._drain()
                return
