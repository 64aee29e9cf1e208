"""A real server with the users of the table, for tests of what they may do."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from redis import Redis

from arena.acl import ADMIN, NodeServer, Server, node_rules, role_password, role_rules, role_user
from arena.credentials import node_secret, node_user, with_login
from launcher.addresses import Ports, redis_url
from launcher.brokers import NOT_KEPT, server_command, wait_until_up

KEY = "a secret key of tests"


class Guarded:
    """A running server of ours."""

    def __init__(self, url: str, server: Server) -> None:
        self.url, self.server = url, server

    def role_url(self, role: str) -> str:
        return with_login(self.url, role_user(role), role_password(KEY, self.server, role))

    def node_url(self, name: str, *, generation: int = 1) -> str:
        password = node_secret(KEY, cast(NodeServer, self.server), name, generation)
        return with_login(self.url, node_user(name), password)

    def admin(self) -> "Redis":
        return Redis.from_url(self.role_url(ADMIN), decode_responses=True)

    def node(self, name: str) -> "Redis":
        return Redis.from_url(self.node_url(name), decode_responses=True)


@contextmanager
def guarded_server(
    folder: Path, server: Server, *, nodes: Mapping[str, int], n_shards: int = 1
) -> Iterator[Guarded]:
    """Run a server whose users are the roles and these nodes, each with its generation."""
    rules = role_rules(KEY, server) | node_rules(KEY, server, nodes, n_shards=n_shards)
    port = Ports.free().broker
    command = server_command(folder, port=port, options=NOT_KEPT, rules=rules)
    running = Guarded(redis_url(port), server)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until_up(running.role_url(ADMIN), limit_s=10)
            yield running
        finally:
            process.kill()
