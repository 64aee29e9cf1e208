"""What `./run node` refuses, and that nothing of it stays; servers that say what they like."""

import json
import re
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from launcher.errors import SetupError
from launcher.folders import write_variables
from launcher.joining import acts, checks
from launcher.joining.__main__ import main
from launcher.joining.checks import write_plugins

TOKEN = "far-1:1.99999999999." + "0" * 64
NODE = {
    "REDIS_URL": "redis://node-far-1:secret@127.0.0.1:1/0",
    "EVALSITE_NODE": "far-1",
    "EVALSITE_NODE_KEY": "f" * 64,
}


class Answers(BaseHTTPRequestHandler):
    """Answers what the test has put there, by the last part of the address."""

    answers: dict[str, tuple[int, Any]] = {}
    requests: list[tuple[str, Any]] = []

    def do_POST(self) -> None:
        path = self.path.removeprefix("/api/v1/")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append((path, body))
        status, content = self.answers[path]
        self.send_response(status)
        self.send_header("Location", "https://elsewhere/")
        self.end_headers()
        self.wfile.write(content if isinstance(content, bytes) else json.dumps(content).encode())

    def log_message(self, *_: Any) -> None:
        """Be quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    Answers.answers, Answers.requests = {}, []
    server = HTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVALSITE_VAR", str(tmp_path / "var"))
    monkeypatch.delenv("EVALSITE_JOIN_TOKEN", raising=False)
    monkeypatch.setattr(checks, "USERS_S", 0.0)
    return tmp_path / "var"


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the one line that a command prints that is refused."""
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1, printed.err
    assert TOKEN not in printed.err
    return printed.err


@pytest.mark.parametrize("address", ["", "server:8000", "ftp://server", "http://", "http://[::1"])
def test_an_address_that_is_none_is_refused(
    address: str, capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    assert "must be the address of the pages" in refused(
        capsys, "--join", address, "--token", TOKEN
    )
    assert not var.exists()


@pytest.mark.parametrize(("token", "why"), [("", "is missing"), ("a b" * 9, "is none")])
def test_a_token_that_can_be_none_is_refused(
    token: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(capsys, "--join", "http://server", "--token", token)
    assert f"--token {why}" in line
    assert "./run manage node invite NAME" in line


REFUSAL = {"detail": "no", "errors": [{"field": "token", "message": "the pass ended 3 s ago"}]}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((400, REFUSAL), "refuses (400): token: the pass ended 3 s ago"),
        ((409, {"detail": "has been\nused"}), "refuses (409): has been used"),
        ((200, b"<html>a page</html>"), "answers 200, but not as evalsite"),
        ((404, b"<html>nothing</html>"), "answers 404, but not as evalsite"),
        ((404, {"error": "no such thing"}), "answers 404, but not as evalsite"),
        ((301, b""), "sends on to https://elsewhere/"),
        ((201, ["a list"]), "answers 201, but not as evalsite"),
        ((201, {}), "answers without plugins or environment"),
        ((201, {"plugins": {"a": 1}, "environment": {}}), "answers without plugins or environ"),
        ((201, {"plugins": {}, "environment": {"REDIS_URL": "r"}}), "EVALSITE_NODE, EVALSITE_NO"),
    ],
)
def test_a_server_that_refuses_or_is_none_of_ours_leaves_nothing_here(
    answer: Any, why: str, url: str, capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    Answers.answers["nodes/"] = answer
    assert why in refused(capsys, "--join", url, "--token", TOKEN)
    assert not var.exists()


def test_a_server_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str], var: Path) -> None:
    line = refused(capsys, "--join", "http://127.0.0.1:1", "--token", TOKEN)
    assert "http://127.0.0.1:1 cannot be reached" in line
    assert "refused" in line
    assert "--bind" in line
    assert not var.exists()


@pytest.mark.parametrize(
    ("variables", "plugins", "why"),
    [
        ({}, {}, "the broker at 127.0.0.1:1 does not let this node in"),
        (
            {"EVALSITE_INFERENCE_URL": "redis://u:p@127.0.0.1:2/0", "REDIS_URL": ""},
            {},
            "the fast store at 127.0.0.1:2 does not let",
        ),
        (
            {"REDIS_URL": "", "EVALSITE_SITE_URL": "http://127.0.0.1:1"},
            {},
            "where this machine finds no web server",
        ),
        ({"REDIS_URL": ""}, {"1/../../x": ""}, "the server sends a plug-in file '1/../../x'"),
        ({"EVALSITE_NOTE": "a\nb"}, {}, "EVALSITE_NOTE may not hold a new line"),
    ],
)
def test_what_fails_after_it_was_let_in_gives_the_node_back(
    variables: dict[str, str],
    plugins: dict[str, str],
    why: str,
    url: str,
    capsys: pytest.CaptureFixture[str],
    var: Path,
) -> None:
    Answers.answers["nodes/"] = (201, {"environment": {**NODE, **variables}, "plugins": plugins})
    Answers.answers["nodes/leave/"] = (200, {})
    line = refused(capsys, "--join", url, "--token", TOKEN)
    assert why in line
    before, _ = line.split(" far-1 is given back")
    assert re.search(r"[^.?][.?]$", before), "one sentence ends before the next"
    assert "secret" not in line
    assert Answers.requests[-1] == ("nodes/leave/", {"name": "far-1", "node_key": "f" * 64})
    assert not var.exists()


def test_where_it_cannot_be_given_back_the_line_says_how_it_is_done_there(
    url: str, capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    Answers.answers["nodes/"] = (201, {"environment": NODE, "plugins": {}})
    Answers.answers["nodes/leave/"] = (503, {"detail": "later"})
    line = refused(capsys, "--join", url, "--token", TOKEN)
    assert "It stays admitted" in line
    assert "./run manage node revoke far-1" in line
    assert not var.exists()


def test_an_address_of_loopback_is_none_for_another_machine() -> None:
    variables = {"REDIS_URL": "redis://u:p@127.0.0.1:7379/0"}
    checks.refuse_loopback("http://localhost:8000", variables)
    with pytest.raises(SetupError, match=r"its REDIS_URL is at 127\.0\.0\.1, which is this"):
        checks.refuse_loopback("http://192.0.2.1:8000", variables)


@pytest.mark.parametrize("act", ["--leave", "--start"])
def test_a_clone_that_is_no_node_has_nothing_to_leave(
    act: str, capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    assert "this clone is no node" in refused(capsys, act)
    assert main([]) == 1
    assert "this clone is no node" in capsys.readouterr().out
    assert not var.exists()


def joined(var: Path, url: str) -> None:
    (var / "node").mkdir(parents=True)
    write_variables(var / "node" / acts.TOLD, {**NODE, acts.URL: url})


def test_a_clone_is_one_node_at_a_time(
    url: str, capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    joined(var, "http://first")
    line = refused(capsys, "--join", url, "--token", TOKEN)
    assert "this clone is the node far-1 of http://first already: ./run node --leave" in line
    assert Answers.requests == []
    assert (var / "node" / acts.TOLD).exists()


def test_two_commands_at_once_do_not_meet(
    url: str, capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    with acts._alone(var / "node"):
        line = refused(capsys, "--join", url, "--token", TOKEN)
    assert "another ./run node is under way" in line
    assert Answers.requests == []


def test_a_folder_of_that_name_that_is_no_nodes_is_left_alone(
    capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    other = var / "node" / "app.js"
    other.parent.mkdir(parents=True)
    other.write_text("of somebody")
    line = refused(capsys, "--join", "http://127.0.0.1:1", "--token", TOKEN)
    assert f"{other} is of no node" in line
    assert "EVALSITE_VAR" in line
    assert [*var.rglob("*")] == [other.parent, other]


@pytest.mark.parametrize("host", ["a..b", "a" * 70])
def test_a_host_that_has_no_address_is_named(
    host: str, capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    assert "cannot be reached" in refused(capsys, "--join", f"http://{host}", "--token", TOKEN)
    assert not var.exists()


def test_a_data_folder_that_is_a_file_is_named(
    capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    var.write_text("of somebody")
    line = refused(capsys, "--join", "http://127.0.0.1:1", "--token", TOKEN)
    assert f"the data folder {var} cannot be written" in line
    assert var.read_text() == "of somebody"


def test_files_that_cannot_be_written_give_the_node_back_without_a_traceback(
    url: str, capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    plugins = {"1/a": "", "1/a/b": ""}
    environment = {**NODE, "REDIS_URL": ""}
    Answers.answers["nodes/"] = (201, {"environment": environment, "plugins": plugins})
    Answers.answers["nodes/leave/"] = (200, {})
    line = refused(capsys, "--join", url, "--token", TOKEN)
    assert "1/a" in line
    assert "far-1 is given back" in line
    assert not var.exists()


@pytest.mark.parametrize("answer", [(200, {}), (403, {"detail": "no such node"})])
def test_leaving_tells_the_server_and_removes_all(
    answer: Any, url: str, capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    joined(var, url)
    Answers.answers["nodes/leave/"] = answer
    assert main(["--leave"]) == 0
    printed = capsys.readouterr().out
    assert f"far-1 has left {url}" in printed
    assert ("was shut out" in printed) == (answer[0] == 403)
    assert not var.exists()


def test_a_server_that_is_away_keeps_what_is_needed_to_leave_later(
    url: str, capsys: pytest.CaptureFixture[str], var: Path
) -> None:
    joined(var, url)
    Answers.answers["nodes/leave/"] = (503, {"detail": "later"})
    line = refused(capsys, "--leave")
    assert "still admitted" in line
    assert "): later. Type it again" in line
    assert (var / "node" / acts.TOLD).exists()


def test_plugins_are_written_folder_by_folder(tmp_path: Path) -> None:
    files = {"1/games/a.py": b"A", "10/games/big/t.bin": b"\xff", "2/games/a.py": b"B"}
    text = write_plugins(tmp_path, files)
    assert text.split(":") == [str(tmp_path / number) for number in ("1", "2", "10")]
    assert {name: (tmp_path / name).read_bytes() for name in files} == files


@pytest.mark.parametrize("name", ["x", "1/..", "1/../a", "/etc/a", "0/a", "1//a", "1/a\\b", "a/b"])
def test_a_path_that_leads_out_of_the_folder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no path of one"):
        write_plugins(tmp_path / "plugins", {name: b64encode(b"").strip()})
    assert not list(tmp_path.rglob("*"))


def test_what_the_machine_says_of_itself_is_checked_before_it_joins(
    url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALSITE_LABELS", "no label")
    assert "EVALSITE_LABELS" in refused(capsys, "--join", url, "--token", TOKEN)
    assert Answers.requests == []


def test_plugins_and_what_all_nodes_have_alike_are_the_servers_to_say() -> None:
    own = checks.read_own_settings(
        {"EVALSITE_PLUGINS": "/p", "EVALSITE_SHARDS": "7", "EVALSITE_CLASS": "spot"}, 3
    )
    assert own == {"EVALSITE_CLASS": "spot", "EVALSITE_SLOTS": "3"}
