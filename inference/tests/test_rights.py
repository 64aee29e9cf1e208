"""What the players of a node may do in a real Valkey, and what they may not."""

from collections.abc import Iterator

import pytest
import redis

from arena.acl import player_rights
from arena.faststore import leases_key, queue_key, reply_key, served_key, taken_key
from inference.client import InferenceClient
from inference.connection import FastConnection
from inference.settings import Settings
from inference.tests.drainers import QUICK, Drainers
from inference.tests.echo import GOOD, block_of
from inference.tests.servers import Server

PASSWORD = "player"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Server]:
    """Run a server whose options let the players of node-1 in."""
    server = Server(f"user node-1 on >{PASSWORD} {player_rights('node-1', n_shards=2)}")
    server.load()
    yield server
    server.kill()


@pytest.fixture
def player(guarded: Server) -> Iterator[FastConnection]:
    """Connect as a player of node-1 does."""
    guarded.empty()
    guarded.load()
    connection = FastConnection(url_of_players(guarded))
    yield connection
    connection.close()


def url_of_players(guarded: Server) -> str:
    return guarded.url.replace("://", f"://node-1:{PASSWORD}@")


def test_a_player_may_ask_and_take_its_own_answer(guarded: Server, player: FastConnection) -> None:
    assert player.call("RPUSH", queue_key(1), b"request") == 1
    assert player.call("LLEN", queue_key(1)) == 1
    assert player.call("MGET", taken_key(0), served_key(0))[0] is None
    assert player.call("ZCOUNT", leases_key(0), 0, "+inf") == 0
    assert len(player.call("TIME")) == 2
    guarded.client.rpush(reply_key("node-1:me"), b"answer")
    taken = player.call("BLMPOP", 1, 1, reply_key("node-1:me"), "LEFT", "COUNT", 10)
    assert taken == [b"inf:reply:node-1:me", [b"answer"]]


def test_the_client_needs_no_other_rights(guarded: Server, player: FastConnection) -> None:
    drainers = Drainers(guarded)
    settings = Settings(node="node-1", retry_after_ms=QUICK.retry_after_ms)
    client = InferenceClient(url_of_players(guarded), settings=settings, ring=drainers.ring)
    assert client.infer(GOOD, block_of(2)).values.tolist() == [4, 4]
    client.close()
    drainers.close()


@pytest.mark.parametrize(
    "command",
    [
        # A lease with a far expiry would stop all inference.
        "ZADD inf:{0}:leases 9e15 forged",
        "ZREM inf:{0}:leases held",
        "ZREMRANGEBYSCORE inf:{0}:leases -inf +inf",
        "SET inf:{0}:taken 0",
        "INCRBY inf:{0}:taken 1",
        "SET inf:{0}:served x",
        "DEL inf:{0}:leases",
        "FCALL inf_begin 2 inf:{0}:queue inf:{0}:leases x 60000",
        "FCALL inf_extend 2 inf:{0}:queue inf:{0}:leases x 60000",
        "FCALL inf_finish 2 inf:{0}:queue inf:{0}:leases held",
        "FCALL inf_pass 2 inf:{0}:queue inf:{0}:leases x",
        "FCALL inf_wake 2 inf:{0}:queue inf:{0}:leases 0 1",
        "FCALL_RO inf_version 0",
        # Requests are taken by gpu workers only.
        "LPOP inf:{0}:queue",
        "LPUSH inf:{0}:queue first",
        "LMPOP 1 inf:{0}:queue LEFT",
        "BLMPOP 1 1 inf:{0}:queue LEFT",
        "LRANGE inf:{0}:queue 0 -1",
        "DEL inf:{0}:queue",
        "EXPIRE inf:{0}:queue 1",
        # What is pushed where nobody serves would stay for ever.
        "RPUSH inf:{2}:queue x",
        "RPUSH inf:{0}:leases x",
        # The answers to other nodes, and answers in their names.
        "LMPOP 1 inf:reply:node-2:me LEFT",
        "LMPOP 2 inf:reply:node-1:me inf:reply:node-2:me LEFT",
        "LMPOP 1 inf:reply:node-10:me LEFT",
        "RPUSH inf:reply:node-2:me x",
        "RPUSH inf:reply:node-1:me x",
        "GET other",
        "SET inf:x y",
        "RPUSH celery x",
        "LPOP celery",
        "KEYS *",
        "SCAN 0",
        "EVAL return(1) 0",
        "FUNCTION FLUSH",
        "FUNCTION LIST",
        "FUNCTION LOAD x",
        "SCRIPT FLUSH",
        "FLUSHALL",
        "CONFIG GET *",
        "ACL LIST",
        "CLIENT LIST",
        "CLIENT KILL TYPE normal",
        "MONITOR",
        "SUBSCRIBE x",
        "PUBLISH asgi x",
        "INFO",
        "DEBUG SLEEP 1",
    ],
)
def test_a_player_may_do_nothing_else(
    guarded: Server, player: FastConnection, command: str
) -> None:
    guarded.client.rpush(queue_key(0), b"request")
    guarded.client.zadd(leases_key(0), {"held": 9e15})
    kept = guarded.n_waiting(), guarded.leases()
    with pytest.raises(redis.ResponseError, match=r"permission|ACL|not allowed"):
        player.call(*command.split())
    assert (guarded.n_waiting(), guarded.leases()) == kept
