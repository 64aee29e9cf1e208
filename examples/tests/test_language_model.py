"""The HTTP agent that asks a language model, here a stand-in: what it plays and how it fails."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests

from arena.games import registry
from arena.games.base import OVER
from arena.games.llmserve.settings import CHOICES, FIRST
from arena.games.llmserve.words import FIELDS, name_choice
from examples.agents import language_model
from examples.agents.language_model import Agent, ModelError, ask_model, make_handler

KEY = "sk-a-key-that-must-never-be-seen"
SAID = {
    "batch cap": 48,
    "KV cache": "60%",
    "speculation": "2",
    "precision": "INT4",
    "prefill and decode": "together",
    "priority": "on",
}
HELLO: dict[str, Any] = {"type": "hello", "protocol": 1, "game": {"id": "llmserve_static_workload"}}
GAME = "llmserve_bursty_workload"


def play(agent: Agent, *, game: str = GAME, seed: int = 7) -> list[list[str]]:
    """Play an episode as the platform asks for it; return what was set, by window."""
    state = registry.get(game).start(seed, opening_plies=0)
    named: list[str] = []
    while state.to_move() != OVER:
        legal = list(state.legal_actions())
        names = [state.action_name(action) for action in legal]
        message = {"type": "decide", "id": 3, "legal_actions": legal, "action_names": names}
        answer = agent.reply({**message, "description": state.describe(0)})
        assert (answer["type"], answer["id"]) == ("action", 3)
        named.append(state.action_name(answer["action"]))
        state.apply(answer["action"])
    return [named[index : index + len(FIELDS)] for index in range(0, len(named), len(FIELDS))]


def name_all(settings: dict[str, Any]) -> list[str]:
    return [f"{field} {settings[field]}" for field in FIELDS]


def test_a_model_is_asked_once_a_window_and_sets_what_it_says() -> None:
    windows: list[str] = []

    def ask(window: str) -> str:
        windows.append(window)
        return json.dumps(SAID)

    agent = Agent(ask)
    assert play(agent) == [name_all(SAID)] * 90
    assert (agent.n_questions, agent.n_kept) == (90, 0)
    assert windows[0] == "0 of 90 windows have run."
    assert "It was set to batch cap 48, KV cache 60%" in windows[1]


@pytest.mark.parametrize(
    "text", ["", "I would rather not.", "[]", "[" * 9_999, "{}", '{"batch cap": 49, "priority": 1}']
)
def test_what_it_does_not_say_stays_as_it_was_set(text: str) -> None:
    answers = iter(["", json.dumps(SAID), *[text] * 88])
    agent = Agent(lambda _: next(answers))
    first, second, *rest = play(agent)
    begun = [name_choice(i, CHOICES[i].index(value)) for i, value in enumerate(FIRST)]
    assert first == begun == language_model.FIRST.split(", ")
    assert [second, *rest] == [name_all(SAID)] * 89
    assert agent.n_kept == 89 * len(FIELDS)


def test_the_question_names_every_choice_there_is() -> None:
    for index, field in enumerate(FIELDS):
        (line,) = (one for one in language_model.QUESTION.splitlines() if f'"{field}":' in one)
        values = (
            line.partition(":")[2].replace(" or ", ",").replace('"', "").rstrip(";.").split(",")
        )
        names = [name_choice(index, choice) for choice in range(len(CHOICES[index]))]
        assert [f"{field} {value.strip()}" for value in values] == names


def test_it_plays_llmserve_alone() -> None:
    agent = Agent(lambda _: "")
    assert agent.reply(HELLO)["wants"] == ["description", "action_names"]
    other = agent.reply({**HELLO, "game": {"id": "chess"}})
    assert other == {"type": "error", "message": "plays LLMServe alone"}


@contextmanager
def serve(handler: Any) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def stand_in(status: int, body: bytes) -> Any:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert (request["model"], request["temperature"]) == ("m", 0)
            assert self.headers["Authorization"] == f"Bearer {KEY}"
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def completion(content: object) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content}}]}).encode()


@pytest.mark.parametrize(
    ("body", "words"), [(completion("{}"), "{}"), (b"[]", ""), (b'{"choices": 5}', "")]
)
def test_the_words_of_the_model_are_returned(body: bytes, words: str) -> None:
    with serve(stand_in(200, body)) as url:
        assert ask_model(url, KEY, "m", "0 of 90") == words


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (401, f"no such key: {KEY}".encode(), "the model answers 401"),
        (500, b"", "the model answers 500"),
        (200, b"garbage", "the model does not answer: JSONDecodeError"),
    ],
)
def test_an_api_that_fails_is_told_without_the_key(status: int, body: bytes, message: str) -> None:
    with serve(stand_in(status, body)) as url, pytest.raises(ModelError) as error:
        ask_model(url, KEY, "m", "0 of 90")
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("url", "key"),
    [("http://127.0.0.1:1", KEY), ("nonsense", KEY), ("http://127.0.0.1:1", "\u00e9")],
)
def test_an_address_or_a_key_that_is_none_is_told(url: str, key: str) -> None:
    with pytest.raises(ModelError, match=r"the model does not answer: [A-Za-z]+$"):
        ask_model(url, key, "m", "0 of 90")


def test_over_http_it_answers_says_503_where_the_model_fails_and_counts() -> None:
    answers: list[Callable[[], str]] = [lambda: json.dumps(SAID), fail]
    agent = Agent(lambda _: answers.pop(0)())
    decide: dict[str, Any] = {"type": "decide", "id": 1, "legal_actions": [0, 1]}
    decide["action_names"] = ["priority off", "priority on"]
    with serve(make_handler(agent)) as url:
        assert requests.post(url, json=HELLO, timeout=5).json()["type"] == "hello"
        done = requests.post(url, json={**decide, "description": "a"}, timeout=5)
        assert done.json() == {"type": "action", "id": 1, "action": 1}
        refusal = requests.post(url, json={**decide, "description": "b"}, timeout=5)
        assert (refusal.status_code, refusal.json()) == (503, {"error": "out of order"})
        assert requests.get(url, timeout=5).json() == {"questions": 2, "settings_kept": 0}
        of_others = {"type": "decide", "id": 1, "description": "a", "action_names": ["left"]}
        nested, half = "[" * 100_000, '{"type": "decide", "id": 1}'
        for junk in ("", "[]", "{}", '{"type": "hello"}', half, nested, json.dumps(of_others)):
            answer = requests.post(url, data=junk, timeout=5)
            assert (answer.status_code, "no message of" in answer.json()["error"]) == (400, True)


@pytest.mark.parametrize("port", ["taken", "99999"])
def test_a_port_that_is_none_or_taken_is_told(
    port: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        number = str(other.server_port) if port == "taken" else port
        monkeypatch.setattr("sys.argv", ["language_model.py", "--model", "m", "--port", number])
        with pytest.raises(SystemExit):
            language_model.main()
    assert f"--port {number} cannot be listened at" in capsys.readouterr().err


def fail() -> str:
    raise ModelError("out of order")
