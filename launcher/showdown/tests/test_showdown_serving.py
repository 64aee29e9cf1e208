import os
from pathlib import Path
from typing import Any

import pytest

from launcher import cli
from launcher.showdown import serving
from launcher.tools import PINNED, hash_packages


def test_without_poke_env_it_says_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVALSITE_VAR", str(tmp_path))
    assert cli.main(["showdown", "serve", "--slots", "4"]) == 2
    errors = capsys.readouterr().err
    assert errors == "poke-env is not installed here: ./run tools install poke-env\n"


def test_it_becomes_the_game_server_and_hands_on_no_secret_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("poke-env", "showdown"):
        (tmp_path / "tools" / name).mkdir(parents=True)
        (tmp_path / "tools" / name / "installed").write_text(hash_packages(PINNED / name))
    monkeypatch.setenv("EVALSITE_VAR", str(tmp_path))
    monkeypatch.setenv("EVALSITE_SECRET_KEY", "secret")
    monkeypatch.setenv("EVALSITE_SHOWDOWN_PASSWORD", "for the accounts")
    monkeypatch.setattr(serving, "require_node", lambda: "/bin/node")
    monkeypatch.chdir(tmp_path)
    calls: list[Any] = []
    monkeypatch.setattr(os, "execve", lambda *call: calls.append(call))
    serving.serve_battles(["--slots", "4"])
    ((python, command, environment),) = calls
    assert python == tmp_path / "tools" / "poke-env" / "bin" / "python"
    assert command[1:5] == ["-m", "gameservers.showdown", "--slots", "4"]
    assert command[command.index("--node") + 1] == "/bin/node"
    assert environment["EVALSITE_SHOWDOWN"] == str(tmp_path / "tools" / "showdown")
    assert environment["EVALSITE_SHOWDOWN_PASSWORD"] == "for the accounts"
    assert "EVALSITE_SECRET_KEY" not in environment
