"""Every program against every command and key, on real servers with the users of the table."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest
from django.core.cache.backends.redis import RedisCache
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError

from arena.acl import ADMIN, ROLES, SERVERS, Rights, Server, format_table, node_rights, role_user
from launcher.folders import ROOT
from launcher.tests.guarded import Guarded, guarded_server

NODE = "node-1"
KEYS = (
    *("reports.1", "reports.9", "reports.10", "reports.aside", "reports.1.aside", "reports.x"),
    *("control", "reports", "gpu", "gpu.1", "gpu.9", "play.node-1", "play.node-2", "play.node-11"),
    *("wake:matches.tick", "_kombu.binding.control", "unacked", "x.reply.celery.pidbox"),
    *(":1:live:nodes", "live:system", "tally:attempts", "inf:{0}:queue", "inf:{0}:leases"),
    *("inf:{7}:queue", "inf:reply:node-1:a", "inf:reply:node-2:a", "inf:reply:a", "inf:metrics:g"),
    *("train", "trained", "train.1", "xp:{cart_pole}", "xp:a", "xpid:{cart_pole}:1", "xpquota:7:1"),
    *("xp", "xpx"),
)
CHANNELS = ("/0.celeryev/worker.x", "/0.celery.pidbox", "asgi__group__board", "__keyspace@0__:x")
# Commands whose keys stand behind a number of keys, or that have more words than a key.
SHAPES: dict[str, tuple[str, ...]] = {
    "blmpop": ("0", "1", "KEY", "LEFT"),
    "lmpop": ("1", "KEY", "LEFT"),
    "eval": ("return 1", "1", "KEY"),
    "eval_ro": ("return 1", "1", "KEY"),
    "evalsha": ("0" * 40, "1", "KEY"),
    "evalsha_ro": ("0" * 40, "1", "KEY"),
    "fcall": ("inf_wake", "1", "KEY"),
    "fcall_ro": ("inf_version", "1", "KEY"),
    "zadd": ("KEY", "1", "a"),
    "hset": ("KEY", "a", "b"),
    "lrange": ("KEY", "0", "-1"),
    "lrem": ("KEY", "1", "a"),
    "lmove": ("KEY", "KEY", "LEFT", "RIGHT"),
    "xread": ("STREAMS", "KEY", "0"),
    "xreadgroup": ("GROUP", "g", "a", "STREAMS", "KEY", ">"),
    "xadd": ("KEY", "*", "a", "b"),
    "xack": ("KEY", "g", "0-1"),
    "xautoclaim": ("KEY", "g", "a", "0", "0"),
    "xclaim": ("KEY", "g", "a", "0", "0-1"),
    "xpending": ("KEY", "g"),
    "xtrim": ("KEY", "MAXLEN", "1"),
    "xdel": ("KEY", "0-1"),
    "xgroup|create": ("KEY", "g", "0"),
    "xgroup|destroy": ("KEY", "g"),
    "xinfo|stream": ("KEY",),
    "xinfo|groups": ("KEY",),
    "xinfo|consumers": ("KEY", "g"),
    "object|encoding": ("KEY",),
}
READING = ("xinfo|", "object|")
"""Of words of several parts the server says nothing; these read."""
N_COMMANDS = {"broker": 100, "fast": 100, "stream": 40}
"""More than so many calls are allowed at a server."""
NEVER = (
    *("config get x", "config set maxmemory 1", "flushall", "flushdb", "keys *", "scan 0"),
    *("eval x 0", "script load x", "function list", "acl list", "acl setuser x on", "acl whoami"),
    *("client kill 1", "client list", "client pause 1", "monitor", "shutdown", "debug sleep 1"),
    *("replicaof a 1", "save", "bgsave", "module list", "swapdb 0 1", "dbsize", "randomkey"),
    *("migrate a 1 k 0 1", "slowlog get", "latency doctor", "memory usage k", "role", "wait 1 1"),
)
"""Of no program and no node."""


@pytest.fixture(scope="module", params=SERVERS)
def guarded(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp(request.param)
    nodes = {NODE: 1, "node-2": 1}
    with guarded_server(folder, request.param, nodes=nodes, n_shards=2) as running:
        yield running


def users_of(server: Server) -> dict[str, Rights]:
    users = {role_user(role): its.rights_at(server) for role, its in ROLES.items()}
    if server != "stream":
        users[NODE] = node_rights(server, NODE, n_shards=2)
    return {user: rights for user, rights in users.items() if rights is not None}


def may_touch(rights: Rights, command: str, key: str, flags: str) -> bool:
    """Say what the table says, without the words of the server."""
    for grant in rights.grants:
        if not {command, command.partition("|")[0]} & set(grant.commands.split()):
            continue
        is_forbidden = ("W" in flags and grant.mode == "%R") or (
            "R" in flags and grant.mode == "%W"
        )
        if not is_forbidden and any(fnmatchcase(key, pattern) for pattern in grant.keys.split()):
            return True
    return False


def dry_run(admin: "Redis", calls: list[tuple[str, ...]]) -> list[bool]:
    """Return for each (user, command, ...) whether the server would allow it."""
    with admin.pipeline(transaction=False) as pipeline:
        for call in calls:
            pipeline.execute_command("ACL", "DRYRUN", *call)  # type: ignore[no-untyped-call]
        replies = pipeline.execute(raise_on_error=False)
    return [reply == "OK" for reply in replies]


def with_keys(admin: "Redis") -> dict[str, tuple[tuple[str, ...], str]]:
    """Return every command of the server that takes a key: how it is called, and "R" or "W"."""
    shaped: dict[str, tuple[tuple[str, ...], str]] = {}
    for name, about in admin.command().items():
        arity, first = abs(about["arity"]), about["first_key_pos"]
        words = SHAPES.get(name)
        if words is None and first > 0:
            words = ("a",) * (first - 1) + ("KEY",) + ("1",) * (max(arity, first + 1) - first - 1)
        if words is not None:
            flags = "R" if "readonly" in about["flags"] else "W"
            shaped[name] = (words, flags)
    for name, words in SHAPES.items():
        if "|" in name:
            shaped[name] = (words, "R" if name.startswith(READING) else "W")
    return shaped


def test_every_user_may_touch_what_the_table_says_and_nothing_else(guarded: Guarded) -> None:
    admin = guarded.admin()
    commands = with_keys(admin)
    assert len(commands) > 150
    calls, expected = [], []
    for user, rights in users_of(guarded.server).items():
        for command, (words, flags) in commands.items():
            for key in KEYS:
                full = tuple(key if word == "KEY" else word for word in words)
                calls.append((user, *command.split("|"), *full))
                expected.append(may_touch(rights, command, key, flags))
    answers = dry_run(admin, calls)
    wrong = [
        (call, answer)
        for call, answer, expected_answer in zip(calls, answers, expected, strict=True)
        if answer != expected_answer
    ]
    assert wrong == []
    assert N_COMMANDS[guarded.server] < sum(answers) < len(answers) / 50


def test_nobody_but_the_admin_may_configure_script_list_or_look_at_others(
    guarded: Guarded,
) -> None:
    calls = [(user, *words.split()) for user in users_of(guarded.server) for words in NEVER]
    answers = dry_run(guarded.admin(), calls)
    assert [call for call, answer in zip(calls, answers, strict=True) if answer] == []


def test_channels_are_those_of_the_table(guarded: Guarded) -> None:
    admin = guarded.admin()
    for user, rights in users_of(guarded.server).items():
        for channel in CHANNELS:
            named = any(fnmatchcase(channel, pattern) for pattern in rights.channels.split())
            may_publish = named and "publish" in rights.commands.split()
            assert dry_run(admin, [(user, "publish", channel, "x")]) == [may_publish], user
            may_read = channel in rights.channels.split() and "psubscribe" in rights.commands
            assert dry_run(admin, [(user, "psubscribe", channel)]) == [may_read], user


@pytest.mark.parametrize(
    "url", ["{plain}", "redis://default:@{place}", "redis://default:x@{place}"]
)
def test_without_a_user_of_its_own_nobody_gets_in(guarded: Guarded, url: str) -> None:
    place = guarded.url.removeprefix("redis://")
    with (
        Redis.from_url(url.format(plain=guarded.url, place=place)) as stranger,
        pytest.raises(AuthenticationError),
    ):
        stranger.ping()


def test_a_node_cannot_use_the_password_of_one_server_at_the_other(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with guarded_server(tmp_path_factory.mktemp("f"), "fast", nodes={NODE: 1}) as fast:
        fast.server = "broker"  # the address with its password of the broker
        with pytest.raises(AuthenticationError):
            fast.node(NODE).ping()


def test_at_the_stream_neither_nodes_nor_programs_of_matches_get_in(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with guarded_server(tmp_path_factory.mktemp("s"), "stream", nodes={NODE: 1}) as stream:
        users = {role_user(role) for role in ("web", "commands", "control", "sink", "trainer")}
        assert set(stream.admin().acl_users()) == {*users, role_user(ADMIN), "default"}
        for role in ("recorder", "beat", "flower", "gpu", "head"):
            with (
                Redis.from_url(stream.role_url(role)) as client,
                pytest.raises(AuthenticationError),
            ):
                client.ping()


ADD = """#!lua name=a
redis.register_function('a', function(keys, argv)
  redis.call('SET', keys[2], 'u', 'NX', 'EX', 10)
  return redis.call('XADD', keys[1], '*', 'chunk', 'c')
end)"""


def test_a_chunk_goes_from_the_web_through_the_sink_and_the_trainer(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    key = "xp:{cart_pole}"
    with guarded_server(tmp_path_factory.mktemp("s"), "stream", nodes={}) as stream:
        web, sink, trainer, control = (
            Redis.from_url(stream.role_url(role), decode_responses=True)
            for role in ("web", "sink", "trainer", "control")
        )
        web.function_load(ADD)
        sink.xgroup_create(key, "sink", id="0", mkstream=True)
        control.xgroup_create(key, "learn:1", id="0")
        entry = web.fcall("a", 2, key, "xpid:{cart_pole}:1")
        for program, group in ((sink, "sink"), (trainer, "learn:1")):
            read: Any = program.xreadgroup(group, "a", {key: ">"})
            ((_, entries),) = read
            assert entries == [(entry, {"chunk": "c"})]
            assert program.xautoclaim(key, group, "a", 0)[1] == entries
            assert program.xack(key, group, entry) == 1
        assert [one["pending"] for one in web.xinfo_groups(key)] == [0, 0]
        assert (
            sink.xtrim(key, minid=f"{int(entry.partition('-')[0]) + 1}-0", approximate=False) == 1
        )
        with pytest.raises(NoPermissionError):
            web.fcall("a", 2, "reports", "xpid:a")
        for program in (sink, trainer, control):
            with pytest.raises(NoPermissionError):
                program.xadd(key, {"chunk": "forged"})


@pytest.mark.parametrize("role", ["web", "commands", "control", "recorder"])
def test_the_cache_has_the_rights_that_it_needs(
    role: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with guarded_server(tmp_path_factory.mktemp("f"), "fast", nodes={}) as fast:
        cache = RedisCache(fast.role_url(role), {})
        cache.set("a", 1, timeout=60)
        cache.set_many({"b": 2, "c": 3}, timeout=60)
        assert cache.incr("b") == 3
        assert cache.get_many(["a", "b", "c"]) == {"a": 1, "b": 3, "c": 3}
        assert cache.add("d", 4, timeout=60)
        assert cache.touch("a", timeout=9)
        assert cache.has_key("a")
        assert cache.delete("a")


def test_a_node_cannot_write_where_messages_go(guarded: Guarded) -> None:
    if guarded.server == "stream":
        return  # it has no user there
    for key in ("_kombu.binding.control", "_kombu.binding.celeryev", "_kombu.binding.play.node-2"):
        with pytest.raises(NoPermissionError):
            guarded.node(NODE).sadd(key, "\x06\x16\x06\x16play.node-1")


def test_the_table_in_the_docs_is_that_of_the_code() -> None:
    """On a difference put `python -c "from arena.acl import *; print(format_table())"` there."""
    assert format_table() in (ROOT / "docs" / "operating.md").read_text()
