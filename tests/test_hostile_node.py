"""What a hostile play node can do with its own credentials: a script that tries everything."""

import json
import pickle
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from arena.acl import NodeServer
from arena.credentials import node_secret, node_user, with_login
from launcher.folders import read_variables
from launcher.stack import Stack
from tests.test_end_to_end import _evaluate

pytestmark = pytest.mark.slow
ATTACKER, VICTIM = "node-2", "node-1"


NODE_SERVERS: tuple[NodeServer, ...] = ("broker", "fast")


class Planted:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def logged_in(cluster: Stack, server: NodeServer) -> "Redis":
    """Return a client with nothing but what is in the attacker's environment."""
    key = read_variables(cluster.plan.var / "secrets.env")["EVALSITE_SECRET_KEY"]
    password = node_secret(key, server, ATTACKER, 1)
    url = with_login(cluster.admin_url(server), node_user(ATTACKER), password)
    return Redis.from_url(url, socket_timeout=5)


def attacks(planted: bytes) -> list[tuple[object, ...]]:
    """Return commands of which each would read, forge, delay or stop what is not the node's."""
    lists = ("control", "reports", f"play.{VICTIM}", "gpu", "inf:{0}:queue")
    reading = [
        *product(("LRANGE",), lists, (0,), (-1,)),
        *product(("BRPOP", "BLPOP"), lists, (1,)),
        *product(("LPOP", "RPOP", "DUMP", "TYPE"), lists),
        ("BLMPOP", 1, 1, f"inf:reply:{VICTIM}:x", "LEFT"),
        ("LMPOP", 1, f"inf:reply:{VICTIM}:x", "LEFT"),
        *(("GET", ":1:live:nodes"), ("HGETALL", "tally:attempts"), ("KEYS", "*"), ("SCAN", 0)),
        *(("MONITOR",), ("CLIENT", "LIST"), ("ACL", "LIST"), ("CONFIG", "GET", "*"), ("INFO",)),
        *(("SUBSCRIBE", "asgi__group__x"), ("PSUBSCRIBE", "*"), ("SLOWLOG", "GET")),
    ]
    forging = [
        *product(
            ("LPUSH", "RPUSH"), ("control", f"play.{VICTIM}", f"inf:reply:{VICTIM}:x"), ("x",)
        ),
        *product(("SADD",), ("_kombu.binding.control", "_kombu.binding.celeryev"), ("x",)),
        *product(("SET",), (":1:live:nodes", "live:system", "wake:matches.relay"), (planted,)),
        ("ZADD", "inf:{0}:leases", 9e15, "mine"),
        ("HINCRBY", "tally:attempts", "done:", 10**9),
        ("PUBLISH", "asgi__group__x", "x"),
        ("FCALL", "inf_begin", 2, "inf:{0}:queue", "inf:{0}:leases", "x", 60_000),
        ("FUNCTION", "LOAD", "#!lua name=x\nredis.register_function('x', function() end)"),
    ]
    stopping = [
        *product(("DEL", "UNLINK"), (*lists, ":1:live:nodes", "inf:{0}:leases")),
        *(("LTRIM", name, 1, 0) for name in lists),
        *product(("EXPIRE",), lists, (0,)),
        *(("RENAME", "reports", "elsewhere"), ("FLUSHALL",), ("FLUSHDB",), ("SHUTDOWN",)),
        *(("EVAL", "return 1", 0), ("SCRIPT", "FLUSH"), ("SWAPDB", 0, 1)),
        *(("CONFIG", "SET", "maxmemory", 1), ("CONFIG", "SET", "dir", "/tmp"), ("SAVE",)),
        *(("CLIENT", "PAUSE", 60_000), ("CLIENT", "KILL", "TYPE", "normal")),
        *(("ACL", "SETUSER", ATTACKER, "+@all", "~*"), ("ACL", "DELUSER", VICTIM)),
        *(("REPLICAOF", "127.0.0.1", 1), ("BGREWRITEAOF",)),
    ]
    return [*reading, *forging, *stopping]


def nothing_goes(client: "Redis", planted: bytes) -> int:
    """Try every attack; return how many there were. Fails at the first one that is let through."""
    tried = attacks(planted)
    for words in tried:
        with pytest.raises(NoPermissionError):
            client.execute_command(*words)  # type: ignore[no-untyped-call]
    return len(tried)


def flood(client: "Redis", planted: bytes) -> None:
    """Do the worst of what a node may: rubbish as reports, doorbells and events."""
    rubbish = [planted, b"[" * 100_000, b'{"body": "', json.dumps({"headers": {}}).encode()]
    for name in ("reports", "gpu"):
        client.lpush(name, *rubbish)
    client.publish("/0.celeryev/worker.heartbeat", b"[" * 1_000)


@contextmanager
def under_attack(cluster: Stack, planted: bytes) -> Iterator[list[int]]:
    """Attack both servers over and over meanwhile; yields how many attacks each round had."""
    is_over, rounds, faults = threading.Event(), list[int](), list[BaseException]()

    def attack() -> None:
        clients = {server: logged_in(cluster, server) for server in NODE_SERVERS}
        try:
            while not is_over.is_set():
                rounds.append(sum(nothing_goes(client, planted) for client in clients.values()))
                flood(clients["broker"], planted)
                time.sleep(0.2)
        except BaseException as error:
            faults.append(error)
            raise

    attacker = threading.Thread(target=attack)
    attacker.start()
    try:
        yield rounds
    finally:
        is_over.set()
        attacker.join()
    assert faults == []


def test_a_hostile_node_neither_reads_forges_nor_stops_anything(
    cluster: Stack, tmp_path: Path
) -> None:
    mark = tmp_path / "executed"
    before = cluster.pids()
    with under_attack(cluster, pickle.dumps(Planted(mark))) as rounds:
        report = _evaluate(cluster, tmp_path, "--num-matches", "300", "--seed", "9")
    assert (report["completed"], report["pending"], report["void"]) == (300, 0, 0)
    assert report["retried"] == 0
    assert cluster.pids() == before
    assert not mark.exists()
    assert _refused_users(cluster) <= {ATTACKER}, "a program lacks a right that it needs"
    assert len(rounds) > 2
    assert min(rounds) > 100


def _refused_users(cluster: Stack) -> set[str]:
    """Return whom the servers have refused anything."""
    admins = [Redis.from_url(cluster.admin_url(server)) for server in NODE_SERVERS]
    return {str(entry["username"]) for admin in admins for entry in admin.acl_log()}
