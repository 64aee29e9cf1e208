"""Processes that agents' code has started and left behind: found and ended by the parent.

One that forks twice, or begins a session of its own, is in no group that dies with its player. But
its parent dies at some time, and the kernel then hands it to the next ancestor that asked for such
orphans: us. None can get into our session, so what is in it is never taken for an orphan.
"""

import ctypes
import logging
import os
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

import psutil

log = logging.getLogger(__name__)

LIMIT_S = 5.0
_PAUSE_S = 0.005
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(*, adopt: bool = True) -> None:
    """Have the kernel make orphaned descendants of ours our children, where it can: on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt))


def end_orphans(
    players: Collection[int],
    *,
    with_children: bool,
    spared: Sequence[str] = (),
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """End what descends from us and is no player; return how many processes that were.

    players: the pids of those that live; with_children: also what descends from them, as when
    their order is over; spared: the command of one child that each player keeps after that. A
    simulator takes longer to start than many of its matches, and who has a player's trust could
    leave a thread in it anyway.
    """
    ended, left_behind = set[int](), set[int]()
    until = clock() + LIMIT_S
    # Again, as long as there are any: one may fork while the others are being ended.
    while orphans := _find_orphans(players, with_children=with_children, spared=spared):
        for orphan in orphans:
            with suppress(psutil.Error, ChildProcessError):
                # A program that decides for an agent runs below its player until its order is over,
                # or has just been killed with it.
                is_dead = orphan.status() == psutil.STATUS_ZOMBIE
                if not is_dead and orphan.ppid() not in players:
                    left_behind.add(orphan.pid)
                orphan.kill()
                # Only a child of ours can be waited for; the others become our children when
                # theirs is.
                os.waitpid(orphan.pid, os.WNOHANG)
        ended.update(orphan.pid for orphan in orphans)
        if clock() > until:
            log.error("%d processes of agents do not end, such as %d", len(orphans), orphans[0].pid)
            break
        time.sleep(_PAUSE_S)
    if left_behind:
        log.warning("%d processes that agents had left behind were ended", len(left_behind))
    return len(ended)


def _find_orphans(
    players: Collection[int], *, with_children: bool, spared: Sequence[str]
) -> list[psutil.Process]:
    ours = psutil.Process()
    if with_children:
        candidates = ours.children(recursive=True)
    else:
        candidates = []
        for child in ours.children():
            if child.pid not in players:
                candidates.append(child)
                with suppress(psutil.Error):  # it may have ended meanwhile
                    candidates += child.children(recursive=True)
    orphans, keepers = [], set[int]()
    for process in candidates:
        # Gone meanwhile, it is nobody's any more.
        with suppress(psutil.Error, ProcessLookupError):
            # Dead but for its parent, which is not us, it cannot be ended again.
            is_left = process.status() != psutil.STATUS_ZOMBIE or process.ppid() == os.getpid()
            is_elsewhere = is_left and os.getsid(process.pid) != os.getsid(0)
            if not is_elsewhere or process.pid in players:
                continue
            parent = process.ppid()
            may_keep = with_children and parent in players and parent not in keepers
            if spared and may_keep and process.cmdline() == list(spared):
                keepers.add(parent)
            else:
                orphans.append(process)
    return orphans
