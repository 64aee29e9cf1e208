"""A stand-in for a model behind OpenAI's API, which answers as it is told and at set speeds."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-a-key-that-must-never-be-seen"
ACTION = {"batch_cap": 48, "quantization_tier": "INT8", "kv_budget_fraction": 0.6}


@dataclass
class StubModel:
    """What the stub does; answer, status: by the number of the request.

    body: sent in the place of an answer, be it JSON or not.
    sent: of each stream the seconds from its request to each of its tokens.
    """

    first_s: float = 0.0
    token_s: float = 0.0
    n_tokens: int = 8
    delay_s: float = 0.0
    answer: Callable[[int], str | None] = lambda number: json.dumps(ACTION)
    status: Callable[[int], int] = lambda number: 200
    body: bytes | None = None
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    sent: list[list[float]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, body: dict[str, Any]) -> int:
        with self.lock:
            self.requests.append(body)
            return len(self.requests) - 1


_HEAD = {"id": "stub", "created": 0, "model": "stub"}


class Handler(BaseHTTPRequestHandler):
    """Answers as its stub says."""

    stub: StubModel
    protocol_version = "HTTP/1.1"
    # Head and body are two writes: the second would wait 40 ms for the first to be acknowledged.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = self.stub.note(body)
        time.sleep(self.stub.delay_s)
        if (status := self.stub.status(number)) != 200:
            # As the real one does, it repeats the key in its complaint.
            self._send(status, {"error": {"message": self.headers["Authorization"]}})
        elif self.stub.body is not None:
            self._send_bytes(200, self.stub.body)
        elif body.get("stream"):
            self._stream()
        else:
            message = {"role": "assistant", "content": self.stub.answer(number)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._send(200, {**_HEAD, "object": "chat.completion", "choices": [choice]})

    def _send(self, status: int, content: dict[str, Any]) -> None:
        self._send_bytes(status, json.dumps(content).encode())

    def _send_bytes(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        # Of a refusal: the package of OpenAI would rest for seconds before it asks again.
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(text)

    def _stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        began, sent = time.perf_counter(), []
        time.sleep(self.stub.first_s)
        for number in range(self.stub.n_tokens):
            time.sleep(self.stub.token_s if number else 0)
            sent.append(time.perf_counter() - began)
            self._event({"choices": [{"index": 0, "delta": {"content": "word "}}]})
        usage = {"prompt_tokens": 9, "completion_tokens": self.stub.n_tokens, "total_tokens": 9}
        self._event({"choices": [], "usage": usage})
        self.stub.sent.append(sent)
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _event(self, content: dict[str, Any]) -> None:
        chunk = {**_HEAD, "object": "chat.completion.chunk", **content}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def run_stub(stub: StubModel) -> Iterator[StubModel]:
    """Serve the stub; its address is in `url`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"stub": stub}))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield stub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
