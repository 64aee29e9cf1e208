"""The keys of the fast store through which players ask networks; who may touch them: arena.acl.

The shard stands in braces, which Redis Cluster hashes by: all keys of a shard lie on one server.
"""


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
