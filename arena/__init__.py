"""The pure core: games, policies, ratings, pairings and the messages between processes.

As a library without any server it offers `arena.play` and `arena.rate`.
"""

from importlib import import_module
from typing import Any

__all__ = ["play", "rate"]

_MODULES = {"play": "arena.local_play", "rate": "arena.field_ratings"}


def __dir__() -> list[str]:
    """Name what is loaded only once it is asked for, too."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Load what is asked for only then: most processes need one part of the core."""
    if name not in _MODULES:
        raise AttributeError(f"module 'arena' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
