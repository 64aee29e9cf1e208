"""Copies the admitted play nodes to the users of the broker and the fast store.

Rows say which nodes are admitted; servers forget their users when they start again. Only control
may make users.
"""

import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.db import DatabaseError, close_old_connections
from redis import Redis
from redis.exceptions import RedisError

from arena.acl import SERVERS, Server, node_rules, role_rules, rule_words
from arena.credentials import node_user
from matches.models import NodeKey
from matches.nodes import node_keys

log = logging.getLogger(__name__)
EVERY_S = 1.0


@dataclass(frozen=True)
class _Copied:
    """What a server has from us: the run of the server, and the generation of each node."""

    run: str
    generations: dict[str, int]


_copied: dict[str, _Copied] = {}


def copy_users() -> None:
    """Make, change and remove users where rows and servers differ."""
    admitted = {key.name: key.generation for key in node_keys.list_admitted()}
    for server in SERVERS:
        url = settings.EVALSITE_ADMIN_URLS[server]
        if not url:
            continue
        try:
            _copy_to_server(server, _get_client(url), admitted)
        except RedisError as error:
            log.warning("users are not copied to the %s, tried again soon: %s", server, error)


def keep_copied() -> None:
    """Copy for ever, about once a second."""
    # Not as a duty of the tick: on a server that has lost its users nobody could send one.
    while True:
        close_old_connections()
        try:
            copy_users()
        except DatabaseError as error:
            log.warning("users are not copied, tried again soon: %s", error)
        time.sleep(EVERY_S)


@cache
def _get_client(url: str) -> "Redis":
    return Redis.from_url(url, socket_timeout=2, socket_connect_timeout=1, decode_responses=True)


def _copy_to_server(server: Server, client: "Redis", admitted: dict[str, int]) -> None:
    """Have a server know the admitted nodes, by name with their generations, and no others."""
    about = client.info("server")
    # A server that has started again has another one, and the users of its file.
    run, version = str(about["run_id"]), str(about["redis_version"])
    copied = _copied.get(server)
    if copied == _Copied(run, admitted):
        return
    is_same_run = copied is not None and copied.run == run
    generations = copied.generations if copied is not None and is_same_run else {}
    rules = {} if is_same_run else _find_missing_programs(server, client)
    changed = {
        name: generation
        for name, generation in admitted.items()
        if generations.get(name) != generation
    }
    n_shards = settings.EVALSITE_SHARDS
    rules |= node_rules(settings.SECRET_KEY, server, changed, n_shards=n_shards)
    _replace_users(client, rules, admitted, version=version)
    _copied[server] = _Copied(run, admitted)


def _replace_users(
    client: "Redis", rules: Mapping[str, str], admitted: Collection[str], *, version: str
) -> None:
    """Set the users of these rules; remove those of nodes that are not admitted any more."""
    # Only nodes that had a user once: others' users on a shared server are left alone.
    refused = list(NodeKey.objects.exclude(name__in=admitted).values_list("name", flat=True))
    with client.pipeline(transaction=True) as pipeline:
        for name in refused:
            pipeline.acl_deluser(node_user(name))
        for user, rule in rules.items():
            words = rule_words(rule, version=version)
            present: Any = client.acl_getuser(user)  # None, or a mapping
            # A rule names a password by the digest that the server tells.
            if present is None or words[1] not in [f"#{p}" for p in present["passwords"]]:
                # Removing the user ends its connections: another password alone would not.
                pipeline.acl_deluser(user)
            call = ("ACL", "SETUSER", user, "reset", *words)
            pipeline.execute_command(*call)  # type: ignore[no-untyped-call]
        pipeline.execute()


def _find_missing_programs(server: Server, client: "Redis") -> dict[str, str]:
    """Return the rules of programs that a server has lost, as one that somebody else runs may."""
    present = client.acl_users()
    rules = role_rules(settings.SECRET_KEY, server)
    return {user: rule for user, rule in rules.items() if user not in present}
