"""Answer a doorbell: hold the lease of a shard for one slice, then give it up or hand it on.

redis_functions.lua tells the life of a lease.
"""

import logging
from collections import Counter

from inference import redis_functions
from inference.connection import ConnectionLostError
from inference.drain_loop import DrainLoop, DrainTools
from inference.protocol import Answerer

log = logging.getLogger(__name__)

ENGINE_COUNTS = ("forwards", "rows", "models_loaded", "models_evicted", "halvings", "stacked")


def drain(tools: DrainTools, shard: int, lease: str) -> dict[str, int]:
    """Work on a shard for one slice; return what was done, by name, without zeros."""
    before = _read_engine_counts(tools.engine)
    counts: Counter[str] = Counter()
    try:
        while (now_ms := _take_lease(tools, shard, lease)) is not None:
            if DrainLoop(tools, shard, lease, now_ms=now_ms, counts=counts).drain_shard():
                break
            redis_functions.run_function(tools.connection, "inf_pass", shard, lease)
            if tools.ring(shard, lease):
                break
            # The broker is away: to go on without a message is better than to stand still.
    except (ConnectionLostError, redis_functions.FunctionsMissingError) as error:
        # Whatever was in hand is sent again by its client, which rings again.
        log.warning("shard %d: %s", shard, error)
        counts["lost"] += 1
    return dict(counts + (_read_engine_counts(tools.engine) - before))


def _read_engine_counts(engine: Answerer) -> Counter[str]:
    return Counter({name: engine.counts.get(name, 0) for name in ENGINE_COUNTS})


def _take_lease(tools: DrainTools, shard: int, lease: str) -> float | None:
    """Return the time of the fast store if the lease is held now; None: nothing is to be done."""
    begin = (tools.connection, "inf_begin", shard, lease, tools.settings.lease_ms)
    try:
        is_held, now_ms = redis_functions.run_function(*begin)
    except ConnectionLostError:
        # The connection was lost while it waited for work, as when the fast store has restarted.
        is_held, now_ms = redis_functions.run_function(*begin)
    return float(now_ms) if is_held else None
