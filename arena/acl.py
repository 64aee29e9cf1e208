"""Who may do what at the servers: the one table from which users, docs and tests are made.

A role is a program of the stack; a play node is a role of its own for each node. What a table row
does not name is refused: nobody but the admin may configure, script, list keys or look at users.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from arena.credentials import node_secret, node_user, role_secret
from arena.faststore import queue_key, reply_key
from arena.queues import (
    REPORTS_QUEUE,
    TRAIN_QUEUE,
    TRAINED_QUEUE,
    gpu_queue,
    play_queue,
    reports_aside,
    reports_queue,
)

# Where play nodes have users; the stream of experience is none of their business.
NodeServer = Literal["broker", "fast"]
Server = Literal["broker", "fast", "stream"]
SERVERS: tuple[Server, ...] = ("broker", "fast", "stream")
CONTROL_QUEUE = "control"
ADMIN = "admin"
# Stands for the name of a node in the table that people read.
ANY_NODE = "<name>"

# What every connection of redis-py does before its first command, and kombu when it opens one.
_SESSION = "ping hello auth select client|setinfo client|setname"


@dataclass(frozen=True)
class Grant:
    """Commands that may touch keys of these patterns, or only read or only write them."""

    commands: str
    keys: str
    mode: Literal["", "%R", "%W"] = ""

    @property
    def selector(self) -> str:
        """Return the grant as one ACL selector, so that its commands touch no other keys."""
        commands = " ".join(f"+{command}" for command in self.commands.split())
        keys = " ".join(f"{self.mode}~{key}" for key in self.keys.split())
        return f"({commands} {keys})"


@dataclass(frozen=True)
class Rights:
    """What a user may do at one server. `commands` touch no key; `channels` are to talk on."""

    grants: tuple[Grant, ...] = ()
    commands: str = ""
    channels: str = ""

    def __str__(self) -> str:
        """Return the rules; what they do not name is refused."""
        commands = " ".join(f"+{command}" for command in f"{_SESSION} {self.commands}".split())
        channels = "".join(f" &{channel}" for channel in self.channels.split())
        selectors = "".join(f" {grant.selector}" for grant in self.grants)
        return f"resetkeys resetchannels -@all {commands}{channels}{selectors}"


@dataclass(frozen=True)
class Role:
    """A program and its rights at the servers; None where it has no user."""

    about: str
    broker: Rights | None = None
    fast: Rights | None = None
    stream: Rights | None = None

    def rights_at(self, server: Server) -> Rights | None:
        """Return what it may do there, or None where it has no user."""
        rights = {"broker": self.broker, "fast": self.fast, "stream": self.stream}
        return rights[server]


_SINCE_7_2 = "+client|setinfo"
# redis-py and kombu wrap several commands in a transaction, so all that use them need these.
_PIPELINE = "multi exec discard"
_EVENTS = "/0.celeryev/*"
_GPU_QUEUES = f"{gpu_queue(0)} {gpu_queue(0)}.*"
_PLAY_QUEUES = play_queue("*")
# All that there may be, however many recorders run: fewer of them tomorrow must still find what
# nodes reported today, and those on other machines learn of no number.
_MORE_REPORTS = f"{REPORTS_QUEUE}.[1-9]"
_REPORT_QUEUES = f"{reports_queue(0)} {_MORE_REPORTS}"
_ASIDE = f"{reports_aside(REPORTS_QUEUE)} {reports_aside(_MORE_REPORTS)}"
_WAKE = Grant("set del", "wake:*")
_WAKES_CONTROL = (Grant("lpush llen", CONTROL_QUEUE), _WAKE)
_SEES_LENGTHS = Grant("llen", "*", mode="%R")

# Django's cache, the state that pages show, the sums of attempts; Channels on `asgi*`.
_PAGES = Rights(
    commands=f"{_PIPELINE} info publish subscribe unsubscribe psubscribe punsubscribe",
    channels="asgi*",
    grants=(
        Grant("get mget set mset del exists incrby expire pexpire ttl", ":1:* live:*"),
        Grant("hincrby hgetall", "tally:*"),
        Grant("mget get llen zcount", "inf:*", mode="%R"),
    ),
)
_WEB = Rights(commands=f"{_PIPELINE} info", grants=(*_WAKES_CONTROL, _SEES_LENGTHS))

# Of experience: a stream for each game, the ids of chunks that have come, and what users have sent.
_STREAMS = "xp:*"
_LOOKS = Grant("xinfo|stream xinfo|groups xinfo|consumers", _STREAMS)
_READS = Grant("xreadgroup xack xautoclaim", _STREAMS)
# A function may do only what its caller may: so all that xp_add does stands here, too.
_UPLOADS = Rights(
    commands="info function|load",
    grants=(
        Grant("fcall", f"{_STREAMS} xpid:* xpquota:*"),
        Grant("xadd", _STREAMS),
        Grant("get set", "xpid:*"),
        Grant("get incrby expire", "xpquota:*"),
        _LOOKS,
    ),
)

# Of the evaluation head: the points of its plots, which survive its restart.
HEAD_HISTORY = "head:history"
# Its answers come there, as those of players do to their nodes.
HEAD_NODE = "head"

ROLES: Mapping[str, Role] = {
    "web": Role(
        "pages and API; wakes control, pops nothing", broker=_WEB, fast=_PAGES, stream=_UPLOADS
    ),
    "commands": Role(
        "a second terminal: `./run manage ...`", broker=_WEB, fast=_PAGES, stream=_UPLOADS
    ),
    "control": Role(
        "sends orders, checks and marks; moves orders between nodes, reports between recorders",
        broker=Rights(
            commands=f"{_PIPELINE} info publish",
            channels=_EVENTS,
            grants=(
                *_WAKES_CONTROL,
                _SEES_LENGTHS,
                Grant("brpop", f"{CONTROL_QUEUE} {TRAINED_QUEUE}"),
                Grant("lpush", f"{_REPORT_QUEUES} {_GPU_QUEUES}"),
                Grant("lpush lrange", TRAIN_QUEUE),
                Grant("lmove", f"{_REPORT_QUEUES} {_ASIDE}"),
                Grant("lpush lrange lrem lmove del", _PLAY_QUEUES),
            ),
        ),
        fast=_PAGES,
        stream=Rights(commands="info", grants=(_LOOKS, Grant("xgroup xtrim xdel", _STREAMS))),
    ),
    "recorder": Role(
        "each takes the reports of its queue",
        broker=Rights(
            commands=f"{_PIPELINE} info publish",
            channels=_EVENTS,
            grants=(
                *_WAKES_CONTROL,
                Grant("brpop llen", _REPORT_QUEUES),
                Grant("lmove", f"{_REPORT_QUEUES} {_ASIDE}"),
                Grant("lrange del", _ASIDE),
            ),
        ),
        fast=_PAGES,
    ),
    "beat": Role(
        "ticks control",
        broker=Rights(commands=_PIPELINE, grants=(Grant("lpush llen", CONTROL_QUEUE),)),
        fast=None,
    ),
    "flower": Role(
        "shows the events of workers and the lengths of queues",
        broker=Rights(
            commands=f"{_PIPELINE} psubscribe punsubscribe publish",
            # It also asks workers about themselves, which none of ours listens to.
            channels="/0.celeryev/* /0.celery.pidbox*",
            grants=(_SEES_LENGTHS, Grant("brpop", "*.reply.celery.pidbox")),
        ),
        fast=None,
    ),
    "gpu": Role(
        "answers players, checks checkpoints",
        broker=Rights(
            commands=f"{_PIPELINE} publish",
            channels=_EVENTS,
            grants=(
                Grant("brpop lpush llen", _GPU_QUEUES),
                Grant("lpush llen", REPORTS_QUEUE),
            ),
        ),
        fast=Rights(
            commands=f"{_PIPELINE} time function|load",
            grants=(
                Grant(
                    "fcall blmpop lmpop rpush lpush llen ltrim lrange del set get mget incrby "
                    "pexpire expire zadd zrem zrange zcount zcard zremrangebyscore",
                    "inf:*",
                ),
            ),
        ),
    ),
    "head": Role(
        "reports game servers, asks networks for its callers",
        broker=Rights(
            commands=_PIPELINE, grants=(Grant("lpush llen", f"{REPORTS_QUEUE} {_GPU_QUEUES}"),)
        ),
        fast=Rights(
            commands=f"{_PIPELINE} time",
            grants=(
                Grant("rpush", "inf:{*}:queue", "%W"),
                Grant("llen mget zcount", "inf:{*}:*", "%R"),
                Grant("blmpop lmpop", f"{reply_key(HEAD_NODE)}:*"),
                Grant("rpush ltrim lrange", HEAD_HISTORY),
            ),
        ),
    ),
    "sink": Role(
        "writes what was uploaded to segments, and drops what every group has read",
        stream=Rights(grants=(_READS, _LOOKS, Grant("xgroup xpending xtrim", _STREAMS))),
    ),
    "trainer": Role(
        "trains models on what was uploaded",
        broker=Rights(
            commands=f"{_PIPELINE} publish",
            channels=_EVENTS,
            grants=(Grant("brpop llen", TRAIN_QUEUE), Grant("lpush llen", TRAINED_QUEUE)),
        ),
        stream=Rights(grants=(_READS, _LOOKS)),
    ),
}


def role_user(role: str) -> str:
    """Return the user by which a program logs in; the prefix keeps clear of others' users."""
    return f"evalsite-{role}"


def role_password(secret_key: str, server: Server, role: str) -> str:
    """Return the password of a program at a server: 64 hexadecimal digits, derived from the key."""
    return role_secret(secret_key, server, role)


def node_rights(server: NodeServer, name: str, *, n_shards: int) -> Rights:
    """Return what a play node may do: pop its own queue and report; ask networks, take answers."""
    if server == "fast":
        return player_rights(name, n_shards=n_shards)
    shards = " ".join(gpu_queue(shard) for shard in range(n_shards))
    return Rights(
        commands=f"{_PIPELINE} publish",
        channels=_EVENTS,
        grants=(
            Grant("brpop llen", play_queue(name)),
            Grant("lpush", f"{_REPORT_QUEUES} {shards}"),
        ),
    )


def player_rights(node: str, *, n_shards: int) -> Rights:
    """Return what the players of a node may do in the fast store.

    node: its name, without characters that patterns know; "*" means every node. Players run agents'
    code. One may ask, see whether anybody answers and take answers to players of its own node;
    client names are random, so that it cannot take another's.
    """
    # One by one: in the list of a shard that no gpu worker serves, a request would stay for ever.
    shards = range(n_shards)
    asking = " ".join(queue_key(shard) for shard in shards)
    # Leases, which decide who answers, are read only: with a far expiry in one, a player could stop
    # inference for everybody.
    looking = " ".join(f"inf:{{{shard}}}:*" for shard in shards)
    return Rights(
        commands="time",
        grants=(
            Grant("rpush", asking, "%W"),
            Grant("llen mget zcount", looking, "%R"),
            Grant("blmpop lmpop", f"{reply_key(node)}:*"),
        ),
    )


def role_rules(secret_key: str, server: Server) -> dict[str, str]:
    """Return the rules of every program's user at a server, by the user's name."""
    users = {ADMIN: "~* &* +@all"}
    for role, its in ROLES.items():
        rights = its.rights_at(server)
        if rights is not None:
            users[role] = str(rights)
    return {
        role_user(
            role
        ): f"on {_make_password_rule(role_password(secret_key, server, role))} {rules}"
        for role, rules in users.items()
    }


def node_rules(
    secret_key: str, server: Server, generations: Mapping[str, int], *, n_shards: int
) -> dict[str, str]:
    """Return the rules of the nodes' users at a server, by the user's name: none at the stream.

    generations: those of the nodes' secrets, by their names.
    """
    if server == "stream":
        return {}
    rules = {}
    for name, generation in generations.items():
        digest = _make_password_rule(node_secret(secret_key, server, name, generation))
        rights = node_rights(server, name, n_shards=n_shards)
        rules[node_user(name)] = f"on {digest} {rights}"
    return rules


def rule_words(rule: str, *, version: str) -> list[str]:
    """Return the words of a rule for a server that says it is of this version of Redis.

    Before 7.2 there was no CLIENT SETINFO, and its name in a rule is an error.
    """
    major, minor, *_ = (*(int(part) for part in version.split(".")), 0)
    words = rule.split()
    return words if (major, minor) >= (7, 2) else [word for word in words if word != _SINCE_7_2]


def _make_password_rule(password: str) -> str:
    """Return a password as its digest: neither files, logs nor the server's lists show it."""
    return f"#{hashlib.sha256(password.encode()).hexdigest()}"


def format_table() -> str:
    """Return the rights of every role as a table in Markdown, for docs/operating.md."""
    node = Role(
        "plays its own orders",
        broker=node_rights("broker", ANY_NODE, n_shards=1),
        fast=node_rights("fast", ANY_NODE, n_shards=1),
    )
    lines = ["| program | broker | fast store | stream |", "|---|---|---|---|"]
    for role, its in {**ROLES, f"play node `{ANY_NODE}`": node}.items():
        cells = (f"{role}: {its.about}", *(_format_rights(its.rights_at(name)) for name in SERVERS))
        # A bar, as in xinfo|stream, would end the cell.
        row = " | ".join(cell.replace("|", r"\|") for cell in cells)
        lines.append(f"| {row} |")
    return "\n".join(lines)


def _format_rights(rights: Rights | None) -> str:
    """Return rights for a cell of the table: commands and keys, and the channels."""
    if rights is None:
        return "no user"
    cells = [f"{grant.commands} `{grant.keys}`" for grant in rights.grants]
    if rights.channels:
        cells.append(f"channels `{rights.channels}`")
    return "; ".join(cells)
