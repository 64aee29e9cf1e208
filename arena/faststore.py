"""The names under which networks are asked in the fast store, and what a player may do with them.

Players run agents' code. One of them may ask, see whether anybody answers, and take what was
answered to players of its own node; client names are random, so that it cannot take another's.
What decides who answers, the leases, is written by gpu workers only: a player that could write one
with a far expiry would stop inference for everybody.
"""

from arena.grants import Grant, Rights


def queue_key(shard: int) -> str:
    """Return the name of the list of requests of a shard."""
    return f"inf:{{{shard}}}:queue"


def leases_key(shard: int) -> str:
    """Return the name of the sorted set of leases of a shard, scored by expiry in ms."""
    return f"inf:{{{shard}}}:leases"


def taken_key(shard: int) -> str:
    """Return the name of the count of requests that were ever taken off a shard's list."""
    return f"inf:{{{shard}}}:taken"


def served_key(shard: int) -> str:
    """Return the name of the sign, which expires, that some gpu worker serves a shard."""
    return f"inf:{{{shard}}}:served"


def reply_key(client: str) -> str:
    """Return the name of the list of answers of a client, `<name of its node>:<32 hex digits>`."""
    return f"inf:reply:{client}"


def player_rights(node: str, *, n_shards: int) -> Rights:
    """Return what the players of a node may do in the fast store.

    node: its name, without characters that patterns know; "*" means every node. The shards are
    named one by one: in a list that no gpu worker serves, what is pushed would stay for ever.
    """
    shards = range(n_shards)
    asking = " ".join(queue_key(shard) for shard in shards)
    looking = " ".join(f"inf:{{{shard}}}:*" for shard in shards)
    return Rights(
        commands="time",
        grants=(
            Grant("rpush", asking, "%W"),
            Grant("llen mget zcount", looking, "%R"),
            Grant("blmpop lmpop", f"{reply_key(node)}:*"),
        ),
    )
