"""The server: OpenEnv's app with routes that keep episodes. One process: sessions live in it."""

import os
import sys
import time
from collections.abc import Callable
from typing import Final

import uvicorn
from fastapi import FastAPI
from openenv.core.env_server.http_server import create_app

from llmserve_env.errors import UnavailableError
from llmserve_env.models import ServeAction, ServeObservation
from llmserve_env.real import read_real_settings
from server.answers import add_error_handlers
from server.environment import NAME, LLMServeEnvironment
from server.limits import MAX_BYTES, Limits
from server.page import build_page
from server.routes import SHADOWED, UNUSED, router
from server.sessions import IDLE_S, SessionStore

MAX_SOCKETS: Final = 64
PORT: Final = 7860
HIGHEST_PORT: Final = 65_535
FAILED: Final = 2


def build_app(
    clock: Callable[[], float] = time.monotonic,
    *,
    max_bytes: int = MAX_BYTES,
    idle_s: float = IDLE_S,
) -> FastAPI:
    """Return the app. Raises UnavailableError where real mode lacks its key."""
    read_real_settings()
    app = create_app(
        LLMServeEnvironment,
        ServeAction,
        ServeObservation,
        env_name=NAME,
        max_concurrent_envs=MAX_SOCKETS,
        gradio_builder=build_page,
        show_default_tab=False,
    )
    stock = [route for route in app.router.routes if not _is_replaced(getattr(route, "path", ""))]
    app.router.routes = []
    app.state.sessions = SessionStore(LLMServeEnvironment, clock, idle_s=idle_s)
    app.include_router(router)
    app.router.routes += stock
    add_error_handlers(app)
    app.add_middleware(Limits, max_bytes=max_bytes, idle_s=idle_s)
    return app


def _is_replaced(path: str) -> bool:
    return path in SHADOWED or path.startswith(UNUSED)


def _build_or_exit() -> FastAPI:
    """Return the app, or end with what is missing: a traceback would say it less well."""
    try:
        return build_app()
    except UnavailableError as error:
        print(f"llmserve: {error}", file=sys.stderr)
        raise SystemExit(FAILED) from None


app = _build_or_exit()


def main(host: str = "0.0.0.0", port: int | None = None) -> None:
    """Serve until stopped; PORT of the environment is where, by default 7860."""
    uvicorn.run(app, host=host, port=port or _read_port(), workers=1, ws_max_size=MAX_BYTES)


def _read_port() -> int:
    """Return PORT of the environment, or end with what is wrong with it."""
    text = os.environ.get("PORT", str(PORT))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:6]) <= HIGHEST_PORT):
        print(f"llmserve: PORT must be 1..{HIGHEST_PORT}: {text!r:.80}", file=sys.stderr)
        raise SystemExit(FAILED)
    return int(text)


if __name__ == "__main__":
    main()
