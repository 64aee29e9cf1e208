"""What a node on another machine is told, and where it finds this one."""

import subprocess
from pathlib import Path

import pytest

from launcher.errors import SetupError
from launcher.nodes.environment import admit_nodes, list_places, list_plugins, write_environment

PRINTED = (
    "REDIS_URL=redis://node-{0}:pass@127.0.0.1:7379/0\n"
    "EVALSITE_INFERENCE_URL=redis://node-{0}:word@fast.example/0\n"
    "EVALSITE_SITE_URL=http://127.0.0.1:8000\nEVALSITE_NODE={0}\nEVALSITE_NODE_KEY=ab\n"
)


def admit(monkeypatch: pytest.MonkeyPatch, server: str | None) -> dict[str, dict[str, str]]:
    printed = "\n".join(PRINTED.format(name) for name in ("a", "b"))
    done = subprocess.CompletedProcess([], 0, printed, "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    return admit_nodes(["a", "b"], Path("var"), {}, server)


def test_each_node_has_its_own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = admit(monkeypatch, None)
    assert [nodes[name]["EVALSITE_NODE"] for name in ("a", "b")] == ["a", "b"]
    assert nodes["b"]["REDIS_URL"] == "redis://node-b:pass@127.0.0.1:7379/0"


def test_loopback_becomes_the_name_by_which_this_machine_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = admit(monkeypatch, "fd00::1")["a"]
    assert node["REDIS_URL"] == "redis://node-a:pass@[fd00::1]:7379/0"
    assert node["EVALSITE_SITE_URL"] == "http://[fd00::1]:8000"
    assert node["EVALSITE_INFERENCE_URL"] == "redis://node-a:word@fast.example/0"
    assert list_places(node) == [
        "the broker|fd00::1|7379",
        "the fast store|fast.example|6379",
        "the web server|fd00::1|8000",
    ]


def test_a_name_that_control_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess(
        [], 2, "", "Traceback\nCommandError: 'a' is too like 'node-a'"
    )
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(SetupError, match="not admitted: CommandError: 'a' is too like 'node-a'"):
        admit_nodes(["a"], Path("var"), {}, None)


def test_the_environment_is_read_by_sh_as_it_was_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVALSITE_ALIVE_S", "2; touch x")
    monkeypatch.setenv("EVALSITE_CAPABILITIES", "of this machine")
    shared = {"EVALSITE_SHARDS": "2", "EVALSITE_SECRET_KEY": "never", "DATABASE_URL": "never"}
    text = write_environment({"EVALSITE_NODE_KEY": "a'b"}, shared, n_plugins=2, slots=3)
    assert "never" not in text
    assert "CAPABILITIES" not in text
    (tmp_path / "node.env").write_text(text)
    script = "set -a; . ./node.env; set +a; env"
    printed = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env={"folder": "/home/me", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    variables = dict(line.split("=", 1) for line in printed.splitlines())
    assert variables["EVALSITE_NODE_KEY"] == "a'b"
    assert variables["EVALSITE_ALIVE_S"] == "2; touch x"
    assert variables["EVALSITE_SHARDS"] == "2"
    assert variables["EVALSITE_SLOTS"] == "3"
    assert variables["EVALSITE_PLUGINS"] == "/home/me/plugins/1:/home/me/plugins/2"
    assert not (tmp_path / "x").exists()


def test_the_plugins_are_those_of_the_running_stack() -> None:
    assert list_plugins({}) == []
    assert list_plugins({"EVALSITE_PLUGINS": "/a:/b"}) == [Path("/a"), Path("/b")]
