"""Calls are sent again where that is safe; what is refused becomes an error with its reason."""

import ast
import sys
from collections.abc import Iterable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import requests
from requests import Response

import evalsite_client
from evalsite_client import (
    NEVER,
    AnswerError,
    Client,
    ConflictError,
    InputError,
    NotAllowedError,
    NotThereError,
    ProblemError,
    Retries,
    ThrottledError,
    UnreachableError,
)
from evalsite_client.tests import fakes
from evalsite_client.tests.fakes import BEGIN, FakeTime, answer, broken, in_turn, problem
from evalsite_client.tests.schema_samples import Schema
from evalsite_client.transport import find_cause

AGENT = Schema().sample({"$ref": "#/components/schemas/Agent"})
NEW: Any = {"name": "a", "game": "chess", "policy": "random"}
PAGE = {"next": None, "previous": None, "results": [AGENT]}


def _made() -> Response:
    return answer(AGENT, 201)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_write_is_sent_again_under_the_same_key(status: int) -> None:
    client, server = fakes.client(in_turn(broken, lambda: problem(status), _made))
    assert client.agents.register(**NEW).id == 1
    keys = {request.headers["Idempotency-Key"] for request in server.requests}
    assert (len(server.requests), len(keys)) == (3, 1)
    assert len({request.body for request in server.requests}) == 1


def test_the_caller_may_give_the_key() -> None:
    client, server = fakes.client(in_turn(_made))
    client.agents.register(**NEW, key="mine")
    assert server.requests[0].headers["Idempotency-Key"] == "mine"
    with pytest.raises(InputError, match="'two words'"):
        client.agents.register(**NEW, key="two words")


def test_a_write_that_meets_its_own_first_attempt_asks_again() -> None:
    client, server = fakes.client(in_turn(broken, lambda: problem(409), _made))
    client.agents.register(**NEW)
    assert len(server.requests) == 3


def test_a_conflict_at_once_is_one() -> None:
    client, server = fakes.client(lambda _: problem(409, "it is over"))
    with pytest.raises(ConflictError, match="it is over"):
        client.tournaments.pause(1)
    assert len(server.requests) == 1


def test_what_was_deleted_by_an_unanswered_call_is_deleted() -> None:
    client, _ = fakes.client(in_turn(broken, lambda: problem(404)))
    client.tokens.revoke(1)
    client, _ = fakes.client(lambda _: problem(404))
    with pytest.raises(NotThereError):
        client.tokens.revoke(1)


def test_attempts_are_bounded_and_further_and_further_apart() -> None:
    time = FakeTime()
    client, server = fakes.client(lambda _: broken(), time=time)
    with pytest.raises(UnreachableError, match="connection reset"):
        client.agents.get(1)
    assert len(server.requests) == Retries().n_attempts
    for slept, most in zip(time.slept, (0.25, 0.5, 1, 2), strict=True):
        assert most / 2 <= slept <= most


@pytest.mark.parametrize(
    ("header", "slept"), [("7", 7.0), (formatdate(BEGIN.timestamp() + 30, usegmt=True), 30.0)]
)
def test_the_wait_that_the_server_asks_for_is_kept(
    header: str, slept: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", BEGIN.timestamp)  # by which a date is measured
    time = FakeTime()
    answering = in_turn(lambda: problem(429, Retry_After=header), _made)
    client, _ = fakes.client(answering, time=time)
    client.agents.register(**NEW)
    assert time.slept == [slept]


def test_a_header_that_is_no_time_is_passed_over() -> None:
    time = FakeTime()
    client, _ = fakes.client(in_turn(lambda: problem(503, Retry_After="soon"), _made), time=time)
    client.agents.register(**NEW)
    assert time.slept[0] <= 0.25


def test_a_server_that_asks_for_too_much_patience_is_not_waited_for() -> None:
    client, server = fakes.client(lambda _: problem(429, "locked out", Retry_After="3600"))
    with pytest.raises(ThrottledError, match="locked out") as raised:
        client.agents.get(1)
    assert raised.value.retry_after_s == 3600
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ProblemError),
        (401, NotAllowedError),
        (403, NotAllowedError),
        (404, NotThereError),
        (409, ConflictError),
        (422, ProblemError),
        (500, ProblemError),
    ],
)
def test_refusals_are_not_tried_again(status: int, kind: type[ProblemError]) -> None:
    refused = {"field": "seed", "message": "it is too large"}
    client, server = fakes.client(lambda _: problem(status, "why", [refused]))
    with pytest.raises(ProblemError) as raised:
        client.agents.register(**NEW)
    error = raised.value
    assert type(error) is kind
    assert (error.status, error.title, error.detail) == (status, "No", "why")
    assert [(one.field, one.message) for one in error.errors] == [("seed", "it is too large")]
    assert str(error) == "seed: it is too large"
    assert len(server.requests) == 1


def test_a_page_of_a_proxy_is_an_error_with_its_status() -> None:
    client, _ = fakes.client(lambda _: fakes.raw(b"<html>", 502, "text/html"), retries=NEVER)
    with pytest.raises(ProblemError, match="answers 502") as raised:
        client.agents.get(1)
    assert raised.value.status == 502


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (lambda: fakes.raw(b"<html>", 200, "text/html"), "no JSON"),
        (lambda: fakes.raw(b"{", 200, "application/json"), "no valid JSON"),
        (lambda: answer([]), "Agent is not an object"),
        (lambda: answer({"id": 1}), "Agent lacks checkpoint"),
        (lambda: answer({**AGENT, "id": "1"}), "Agent.id is not a whole number but '1'"),
        (lambda: answer({**AGENT, "created_at": "noon"}), "Agent.created_at is no time: 'noon'"),
        (lambda: answer(None, 302, Location="https://other/"), "redirects to https://other/"),
    ],
)
def test_another_program_or_version_is_told_apart(response: Any, words: str) -> None:
    client, _ = fakes.client(lambda _: response())
    with pytest.raises(AnswerError, match=words):
        client.agents.get(1)


def test_a_list_that_is_no_page_is_refused() -> None:
    client, _ = fakes.client(lambda _: answer(AGENT))
    with pytest.raises(AnswerError, match="no page of rows"):
        next(client.agents.list())


def test_members_of_a_newer_server_are_left_out() -> None:
    client, _ = fakes.client(lambda _: answer({**AGENT, "elo": 3000}))
    assert client.agents.get(1).name == "a"


def test_pages_are_fetched_when_their_rows_are_asked_for() -> None:
    on = {**PAGE, "next": "https://proxy.example.org/other/?cursor=c%3D1&page_size=1"}
    client, server = fakes.client(in_turn(lambda: answer(on), lambda: answer(PAGE)))
    agents = client.agents.list(game="chess", is_retired=False, page_size=1)
    assert not server.requests
    next(agents)
    assert len(server.requests) == 1
    assert len(list(agents)) == 1
    first, second = (request.url for request in server.requests)
    assert first == f"{fakes.BASE}/api/v1/agents/?game=chess&is_retired=false&page_size=1"
    assert second == f"{first}&cursor=c%3D1"


def test_the_token_is_sent_and_a_login_of_netrc_is_not(tmp_path: Any, monkeypatch: Any) -> None:
    (netrc := tmp_path / "netrc").write_text("machine evalsite.test login a password b")
    monkeypatch.setenv("NETRC", str(netrc))
    for token, sent in (("secret", "Token secret"), ("", None)):
        client, server = fakes.client(lambda _: answer(AGENT), token=token)
        client.agents.get(1)
        assert server.requests[0].headers.get("Authorization") == sent


def test_address_and_token_come_from_the_environment(monkeypatch: Any) -> None:
    server = fakes.FakeServer(lambda _: answer(AGENT))
    monkeypatch.setenv("EVALSITE_URL", "http://elsewhere.test/site/")
    monkeypatch.setenv("EVALSITE_TOKEN", "secret")
    session = requests.Session()
    session.mount("http://elsewhere.test/", server)
    with Client(session=session) as client:
        client.agents.get(1)
    assert server.requests[0].url == "http://elsewhere.test/site/api/v1/agents/1/"
    assert server.requests[0].headers["Authorization"] == "Token secret"


def test_user_and_password_log_in_for_a_first_token() -> None:
    server = fakes.FakeServer(lambda _: problem(401))
    session = requests.Session()
    session.mount("http://", server)
    with (
        Client(fakes.BASE, password=("ada", "pass:word"), session=session) as client,
        pytest.raises(NotAllowedError),
    ):
        next(client.tokens.list())
    assert server.requests[0].headers["Authorization"] == "Basic YWRhOnBhc3M6d29yZA=="


@pytest.mark.parametrize(
    "address", ["nonsense", "ftp://a", "http://", "http://a:port", "http://u:p@a", "http://a?b=c"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="base_url") as raised:
        Client(address)
    assert address in str(raised.value)


@pytest.mark.parametrize("token", ["two words", "line\n", "schlüssel"])
def test_what_is_no_token_is_refused_without_repeating_it(token: str) -> None:
    with pytest.raises(InputError, match="token") as raised:
        Client(fakes.BASE, token)
    assert token not in str(raised.value)


def test_what_is_no_json_is_not_sent() -> None:
    client, server = fakes.client(lambda _: _made())
    with pytest.raises(InputError, match=r"parameters: \{'a': nan\} cannot be sent"):
        client.agents.register(**NEW, parameters={"a": float("nan")})
    with pytest.raises(InputError, match="margin: inf cannot be sent"):
        client.runs.start(name="poles", game="cart_pole", margin=float("inf"))
    assert not server.requests


def test_an_address_that_no_request_can_have_is_bad_input() -> None:
    with pytest.raises(InputError, match="base_url"), Client("http://.a") as client:
        client.agents.get(1)


def test_a_certificate_that_is_not_trusted_is_not_tried_again() -> None:
    def untrusted() -> Response:
        raise requests.exceptions.SSLError("certificate verify failed")

    client, server = fakes.client(lambda _: untrusted())
    with pytest.raises(UnreachableError, match="certificate verify failed"):
        client.agents.get(1)
    assert len(server.requests) == 1


def test_the_innermost_cause_is_named() -> None:
    outer = ValueError("object at 0x7f")
    outer.__cause__ = TimeoutError()
    assert find_cause(outer) == "TimeoutError"


def _list_foreign(files: Iterable[Path]) -> set[str]:
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text()))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names


def test_nothing_but_requests_is_imported_and_numpy_by_who_plays() -> None:
    own = Path(evalsite_client.__file__).parent
    files = [path for path in own.rglob("*.py") if "tests" not in path.relative_to(own).parts]
    playing = {path for path in files if path.is_relative_to(own / "experience")}
    exporter = own / "minari_export.py"  # needs an extra, and is loaded by its name
    # urllib3 comes with requests.
    assert _list_foreign(set(files) - playing - {exporter}) == {
        "evalsite_client",
        "requests",
        "urllib3",
    }
    assert _list_foreign(playing) == {"evalsite_client", "numpy"}
    importers = set(files) - playing
    named = {path.name for path in importers if "evalsite_client.experience" in path.read_text()}
    assert named == {"xp_client.py"}  # by its name, when the command is run
