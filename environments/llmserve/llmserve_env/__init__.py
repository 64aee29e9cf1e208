"""LLMServe for OpenEnv: steer a server of language models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from llmserve_env.client import LLMServeEnv
    from llmserve_env.models import ServeAction, ServeObservation, ServeState

__all__ = ["LLMServeEnv", "ServeAction", "ServeObservation", "ServeState"]

_HOMES: Final = {
    "LLMServeEnv": "llmserve_env.client",
    "ServeAction": "llmserve_env.models",
    "ServeObservation": "llmserve_env.models",
    "ServeState": "llmserve_env.models",
}


def __getattr__(name: str) -> Any:
    """Return what is exported, imported when it is first asked for.

    OpenEnv imports a web framework, which takes seconds that who trains on the simulator alone
    would wait for in each process.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
