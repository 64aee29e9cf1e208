import socket
from collections.abc import Iterator

import pytest

from gameservers import reference
from gameservers.head import command


@pytest.fixture
def busy_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@pytest.fixture(autouse=True)
def _without_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REDIS_URL", "FAST_REDIS_URL", "EVALSITE_PROXIES", "CHECKPOINT_BUCKET"):
        monkeypatch.delenv(name, raising=False)


def test_a_busy_port_ends_the_head_with_one_line(
    busy_port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--port", str(busy_port)]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"eval_head: cannot listen at 127.0.0.1:{busy_port}: Address already")
    assert "--port" in line


@pytest.mark.parametrize("host", ["192.0.2.7", "no such host", "2001:db8::7"])
def test_an_address_that_is_not_of_this_machine_ends_it_too(
    host: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--host", host, "--port", "8080"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"eval_head: cannot listen at {host}:8080: ")
    assert line.endswith("--host must be an address of this machine, and --port one that is free")


def test_a_number_of_proxies_that_is_none_ends_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVALSITE_PROXIES", "one")
    assert command.main([]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "EVALSITE_PROXIES" in line
    assert "'one'" in line


def test_a_busy_port_ends_a_game_server_with_one_line(
    busy_port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        reference.main(["--port", str(busy_port), "--name", "sim-1"])
    assert ended.value.code == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line == f"sim-1: cannot listen at 127.0.0.1:{busy_port}: Address already in use"
