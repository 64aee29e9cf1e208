"""The machines of a host file, called all at once."""

import argparse
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from launcher.errors import SetupError
from launcher.nodes.host_files import Host, read_hosts
from launcher.nodes.ssh import RemoteError, Ssh

FOLDER: Final = "evalsite-nodes"
"""Under it, at home on the other machine, each node has a folder of its name."""
AT_ONCE: Final = 16

Act = Callable[[Host], str]


@dataclass(frozen=True)
class Machines:
    """Whom to call, how, and in which folder the nodes lie there."""

    hosts: Sequence[Host]
    ssh: Ssh
    folder: str

    @classmethod
    def from_options(cls, options: argparse.Namespace) -> "Machines":
        """Return the machines that the command line names. Raises SetupError."""
        if options.ssh_config and not options.ssh_config.is_file():
            raise SetupError(f"there is no file {options.ssh_config}: correct --ssh-config")
        if not re.fullmatch(r"[A-Za-z0-9_./-]+", options.folder) or ".." in options.folder:
            rule = "letters, digits and _ . / -"
            raise SetupError(f"--folder is {options.folder!r}: must be of {rule}")
        return cls(read_hosts(options.hosts), Ssh(options.ssh_config), options.folder)

    def call(
        self, host: Host, script: str, *arguments: str, sent: bytes = b"", limit_s: float = 60.0
    ) -> str:
        """Run a script of `remote` there and return what it printed. Raises RemoteError."""
        own = (f"{self.folder}/{host.name}", host.name)
        return self.ssh.run(host, script, *own, *arguments, sent=sent, limit_s=limit_s)

    def do_everywhere(self, act: Act) -> list[str]:
        """Return what each machine answered. Raises SetupError with a line for each that fails."""
        answers = try_everywhere(self.hosts, act)
        if failures := [str(answer) for answer in answers if isinstance(answer, RemoteError)]:
            raise SetupError("\n".join([*failures, "nothing is started"]))
        return [str(answer) for answer in answers]


def try_everywhere(hosts: Sequence[Host], act: Act) -> list[str | RemoteError]:
    """Return what each machine answered, or what is wrong with it."""

    def attempt(host: Host) -> str | RemoteError:
        try:
            return act(host)
        except RemoteError as error:
            return error

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(attempt, hosts))
