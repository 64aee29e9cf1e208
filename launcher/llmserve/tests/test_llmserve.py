"""The commands of `./run llmserve`, with a program in place of the tool's Python, and with it."""

import json
import socket
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from launcher import cli
from launcher.folders import ROOT
from launcher.llmserve.commands import (
    LLMSERVE,
    MEMORY_MB,
    PACKAGE,
    choose_variables,
    why_silent,
)
from launcher.standalone import commands
from launcher.tools import PINNED, MissingToolError, find_tool, hash_packages

# Answers as the server does, with its limits and what it knows of the environment.
SERVER = """\
import json, os, resource, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        limits = resource.getrlimit(resource.RLIMIT_DATA)
        known = {"status": "healthy", "limits": limits, "names": sorted(os.environ)}
        content = json.dumps({**known, "words": sys.argv[1:], "folder": os.getcwd()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""

QUIET = SimpleNamespace(is_asked=False, is_raising=True)


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a data folder whose tools are the stand-in; end the server that it has started."""
    folder = tmp_path / "var"
    (tmp_path / "server.py").write_text(SERVER)
    for name in ("openenv-core", "openenv"):
        programs = folder / "tools" / name / "bin"
        programs.mkdir(parents=True)
        python = programs / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} {tmp_path / "server.py"} "$@"\n')
        python.chmod(0o755)
        (programs.parent / "installed").write_text(hash_packages(PINNED / name))
    monkeypatch.setenv("EVALSITE_VAR", str(folder))
    # A signal of the terminal is for the process that is tested, not for pytest.
    monkeypatch.setattr(commands, "Interruption", lambda: QUIET)
    yield folder
    commands.stop_server(LLMSERVE)


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(*words: str) -> int:
    return cli.main(["llmserve", *words])


def ask(port: int, route: str = "/health") -> dict[str, object]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{route}", timeout=30) as response:
        answer: dict[str, object] = json.loads(response.read())
        return answer


def test_a_server_is_started_asked_and_stopped(
    var: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("start", "--port", str(port)) == 0
    url = f"http://127.0.0.1:{port}"
    assert f"It answers at {url}, log: {var / 'log' / 'llmserve.log'}" in capsys.readouterr().out
    assert run("status") == 0
    assert f"LLMServe answers at {url}" in capsys.readouterr().out
    assert run("start", "--port", str(port)) == 1
    assert "a server of LLMServe runs here already" in capsys.readouterr().out
    assert run("stop") == 0
    assert run("status") == 1
    assert "./run llmserve start" in capsys.readouterr().out


def test_it_has_its_limit_of_memory_one_worker_and_its_folder(var: Path, port: int) -> None:
    assert run("start", "--port", str(port), "--tool", "openenv") == 0
    answer = ask(port)
    assert answer["limits"] == [MEMORY_MB << 20] * 2
    words = answer["words"]
    assert isinstance(words, list)
    assert words[:3] == ["-m", "uvicorn", "server.app:app"]
    assert words[-4:] == ["--workers", "1", "--ws-max-size", "1048576"]
    assert answer["folder"] == str(PACKAGE)


def test_it_knows_of_our_environment_what_it_needs() -> None:
    ours = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "k",
        "LLMSERVE_MODE": "real",
        "EVALSITE_SECRET_KEY": "s",
        "PYTHONPATH": "/elsewhere",
    }
    chosen = choose_variables(ours)
    assert {"PATH", "OPENAI_API_KEY", "LLMSERVE_MODE"} <= chosen.keys()
    assert not {"EVALSITE_SECRET_KEY", "PYTHONPATH"} & chosen.keys()


def test_without_the_tool_it_says_what_to_type(
    var: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (var / "tools" / "openenv-core" / "installed").unlink()
    assert run("start") == 2
    refusal = "openenv-core is not installed here: ./run tools install openenv-core\n"
    assert capsys.readouterr().err == refusal


def test_a_server_that_ends_while_it_starts_is_told_with_its_words(
    var: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    python = var / "tools" / "openenv-core" / "bin" / "python"
    python.write_text("#!/bin/sh\necho 'llmserve: OPENAI_API_KEY is not set' >&2\nexit 2\n")
    assert run("start", "--port", str(port)) == 1
    errors = capsys.readouterr().err
    assert "the server of LLMServe does not run" in errors
    assert "OPENAI_API_KEY is not set" in errors


def test_another_program_at_its_port_is_not_taken_for_it(port: int) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert why_silent(port, limit_s=0.2) == "timed out"
    assert "refused" in why_silent(port, limit_s=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["openenv-core", "openenv"])
def test_the_real_server_plays_within_its_limit_of_memory(
    tool: str, tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        installed = find_tool(tool, ROOT / "var")
    except MissingToolError as error:
        pytest.skip(str(error))
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / tool).symlink_to(installed)
    monkeypatch.setenv("EVALSITE_VAR", str(tmp_path))
    monkeypatch.setattr(commands, "Interruption", lambda: QUIET)
    assert run("start", "--port", str(port), "--tool", tool) == 0
    try:
        scores = ask(port, "/baseline")["scores"]
        assert isinstance(scores, dict)
        assert len(scores) == 3
        assert run("status") == 0
    finally:
        assert run("stop") == 0
