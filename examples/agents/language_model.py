"""Plays LLMServe by asking a language model once a window: an HTTP agent (docs/agents.md).

    OPENAI_API_KEY=... python3 examples/agents/language_model.py --model gpt-4.1-mini --port 9000
    EVALSITE_PROGRAMS="model=http://127.0.0.1:9000/" ./run up

It needs nothing but Python. OPENAI_BASE_URL leads to any other server that speaks OpenAI's API.
What an answer does not say stays as it was set; `GET /` tells how often. Where the API fails it
says 503: then another attempt at the match is made before anybody forfeits.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

QUESTION = """\
You operate a server of a 70B language model on four A100, and are told how its last window of 2
seconds went; an episode has 90. Keep the time to the first token and between tokens within the
limits, evict nothing, waste no memory. Another precision, or another way to prefill and decode,
stops the server for about a second. Answer with one JSON object that has all of these fields:
"batch cap": 1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256 or 512;
"KV cache": "10%", "20%", "30%", "40%", "50%", "60%", "70%", "80%", "90%" or "100%";
"speculation": 0, 1, 2, 3, 4, 5, 6, 7 or 8;
"precision": "FP16", "INT8" or "INT4";
"prefill and decode": "together" or "apart";
"priority": "off" or "on".
"""
FIRST = (
    "batch cap 32, KV cache 50%, speculation 0, precision INT8, prefill and decode together, "
    "priority off"
)
"""How the server runs before the first window."""
OPENAI, TIMEOUT_S = "https://api.openai.com/v1", 30.0
# What comes of reading anything else; StopIteration: no action is one of this game.
NO_MESSAGE = (
    *(ValueError, LookupError, TypeError, AttributeError),
    *(RecursionError, StopIteration),
)


class ModelError(Exception):
    """The API fails; the message holds neither the key nor what the API says, which may."""


class Agent:
    """Sets a server as a model says. It remembers answers, but none depends on one before."""

    def __init__(self, ask: Callable[[str], str]) -> None:
        """ask: returns the model's words about a window."""
        self.n_questions = self.n_kept = 0
        self._ask = ask
        # A window is six decisions, and one question. Whoever asks it anew gets its own answer.
        self._answer = lru_cache(maxsize=1_000)(self._ask_for_settings)

    def reply(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a message of the platform. Raises ModelError."""
        if message["type"] == "hello":
            if not message["game"]["id"].startswith("llmserve_"):
                return {"type": "error", "message": "plays LLMServe alone"}
            wants = ["description", "action_names"]
            return {"type": "hello", "name": "language model", "version": "1", "wants": wants}
        action = self._decide(message["description"], message["action_names"])
        return {
            "type": "action",
            "id": message["id"],
            "action": message["legal_actions"][action],
        }

    def _decide(self, description: str, names: list[str]) -> int:
        """Return the index of a name such as "batch cap 64"; what is set stays if none is said."""
        window, _, _ = description.partition(" Chosen for the next one: ")
        field, _, _ = names[0].rpartition(" ")
        name = f"{field} {self._answer(window).get(field)}"
        if name in names:
            return names.index(name)
        self.n_kept += 1
        _, _, rest = window.partition(" It was set to ")
        running = (rest.partition(". It earned ")[0] or FIRST).split(", ")
        return next(index for index, name in enumerate(names) if name in running)

    def _ask_for_settings(self, window: str) -> dict[str, Any]:
        self.n_questions += 1
        try:
            settings = json.loads(self._ask(window))
        except (ValueError, RecursionError):
            return {}
        return settings if isinstance(settings, dict) else {}


def ask_model(url: str, key: str, model: str, window: str) -> str:
    """Return a model's answer; no words where it has none. Raises ModelError."""
    messages = ({"role": "system", "content": QUESTION}, {"role": "user", "content": window})
    request = {"model": model, "messages": messages, "temperature": 0}
    body = json.dumps({**request, "response_format": {"type": "json_object"}}).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        with urlopen(Request(f"{url}/chat/completions", body, headers), timeout=TIMEOUT_S) as reply:
            completion = json.load(reply)
    except HTTPError as error:
        raise ModelError(f"the model answers {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise ModelError(f"the model does not answer: {type(error).__name__}") from None
    try:
        return str(completion["choices"][0]["message"]["content"])
    except (LookupError, TypeError):
        return ""


def make_handler(agent: Agent) -> type[BaseHTTPRequestHandler]:
    """Return what answers the platform's messages, and a person with the figures."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            figures = {"questions": agent.n_questions, "settings_kept": agent.n_kept}
            self._send(HTTPStatus.OK, figures)

        def do_POST(self) -> None:
            try:
                message = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)))
                self._send(HTTPStatus.OK, agent.reply(message))
            except ModelError as error:
                self._send(HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)})
            except NO_MESSAGE as error:
                fault = f"no message of the platform: {type(error).__name__}: {error}"
                self._send(HTTPStatus.BAD_REQUEST, {"error": fault})

        def _send(self, status: int, content: dict[str, Any]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: there are hundreds of messages in an episode."""

    return Handler


def main() -> int:
    """Answer until it is stopped."""
    parser = argparse.ArgumentParser(description="Play LLMServe by asking a language model.")
    parser.add_argument("--model", required=True)
    parser.add_argument("--port", type=int, default=9000, help="on loopback (9000)")
    options = parser.parse_args()
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not key:
        parser.error("OPENAI_API_KEY is not set: a model cannot be asked without it")
    url = os.environ.get("OPENAI_BASE_URL", OPENAI).rstrip("/")
    agent = Agent(lambda window: ask_model(url, key, options.model, window))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", options.port), make_handler(agent))
    except (OSError, OverflowError) as error:
        parser.error(f"--port {options.port} cannot be listened at: {error}")
    print(f"http://127.0.0.1:{server.server_port}/ asks {options.model}", flush=True)
    with suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
