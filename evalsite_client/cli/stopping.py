"""How a command is stopped: SIGTERM means what Ctrl-C means, and what was found is still told."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130
"""The exit code after Ctrl-C or SIGTERM."""


@contextmanager
def take_sigterm() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as SIGINT does."""
    # None: another library handles it, which cannot be put back.
    before = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
