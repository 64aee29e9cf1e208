"""Commands on other machines by the system's ssh; what goes wrong is one line, and what to do."""

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from launcher.errors import SetupError
from launcher.nodes.host_files import Host

CONNECT_S: Final = 10
SSH_FAILED: Final = 255
# It asks nobody: where it would, it fails, and the line says what to do by hand once.
_OPTIONS: Final = (
    *("-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}", "-o", "ConnectionAttempts=1"),
    *("-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-o", "LogLevel=ERROR", "-T"),
)


class RemoteError(SetupError):
    """Something went wrong at one machine; the message names it, and what to do."""

    def __init__(self, host: Host, reason: str) -> None:
        self.host, self.reason = host, reason
        super().__init__(f"{host.name} ({host}): {reason}")


@dataclass(frozen=True)
class Ssh:
    """How machines are reached; config: a file for ssh in place of its own."""

    config: Path | None = None

    def run(
        self,
        host: Host,
        script: str,
        *arguments: str,
        sent: bytes = b"",
        limit_s: float = 60.0,
    ) -> str:
        """Run a script of sh there and return what it printed. Raises RemoteError.

        arguments: $1, $2 ... of the script; everybody there can see them: secrets go by `sent`.
        """
        command = self._list_words(host, script, arguments)
        try:
            result = subprocess.run(
                command, input=sent, capture_output=True, check=False, timeout=limit_s
            )
        except subprocess.TimeoutExpired as error:
            reason = f"has not answered within {limit_s:g} s: log in by hand and look at its load"
            raise RemoteError(host, reason) from error
        if result.returncode:
            stderr = result.stderr.decode("utf-8", "replace")
            raise RemoteError(host, explain_failure(host, result.returncode, stderr))
        return result.stdout.decode("utf-8", "replace")

    def _list_words(self, host: Host, script: str, arguments: Sequence[str]) -> list[str]:
        if (program := shutil.which("ssh")) is None:
            raise SetupError("ssh is not installed here (Debian: apt-get install openssh-client)")
        config = ("-F", str(self.config)) if self.config else ()
        user = ("-l", host.user) if host.user else ()
        # One word for whatever shell the user has there.
        remote = shlex.join(["sh", "-c", script, "sh", *arguments])
        place = ("-p", str(host.port), "--", host.host, remote)
        return [program, *config, *_OPTIONS, *user, *place]


_BY_HAND: Final = "log in by hand once: ssh {login}"
# What ssh says, and what that means; the first that fits is taken.
_MEANINGS: Final = (
    ("could not resolve", "no such host: correct its line in the host file"),
    ("identification has changed", "it has another host key than before: if that is right, "
     "ssh-keygen -R {place}, then " + _BY_HAND),
    ("host key verification failed", "its host key is not known here: " + _BY_HAND),
    ("permission denied (", "it refuses our key: ssh-copy-id {login}"),
    ("too many authentication", "it refuses our keys: name one with IdentityFile in ~/.ssh/config"),
    ("connection refused", "nobody listens at port {port}: is sshd running there?"),
    ("timed out", "it does not answer at port {port}: is it on, and its firewall open?"),
    ("no route to host", "there is no way to it: is it on, and in this network?"),
    ("network is unreachable", "there is no way to it: is this machine in its network?"),
)  # fmt: skip
# Of the scripts that run there; what they say themselves is shown as it is.
_MEANINGS_THERE: Final = (
    ("no space left", "its disk is full: make room there, or name another --folder"),
    ("disk quota exceeded", "its disk quota is used up: make room, or name another --folder"),
    ("permission denied", "it may not write there: name another --folder"),
    ("read-only file system", "its disk is read-only: name another --folder"),
)  # fmt: skip


def explain_failure(host: Host, status: int, output: str) -> str:
    """Return in one line what went wrong and what to do; said: what came on standard error."""
    port = f" -p {host.port}" if f":{host.port}" in str(host) else ""
    login = f"{f'{host.user}@' if host.user else ''}{host.host}{port}"
    place = f"'[{host.host}]:{host.port}'" if port else host.host
    for sign, meaning in _MEANINGS if status == SSH_FAILED else _MEANINGS_THERE:
        if sign in output.lower():
            return meaning.format(login=login, place=place, port=host.port)
    lines = [line for line in output.splitlines() if line.strip()] or [f"it ended with {status}"]
    last_line = "".join(letter if letter.isprintable() else "?" for letter in lines[-1])
    return f"ssh: {last_line[:200]}" if status == SSH_FAILED else last_line[:200]
