"""A clock that was set back: what was written before would hold all up until it has caught up.

Deadlines would pass hours late, and a node that died would count as alive meanwhile.
"""

import logging
from datetime import datetime, timedelta

from matches.models import Order, Worker
from matches.store.leases import PLAYING_LEASE, QUEUED_LEASE

log = logging.getLogger(__name__)

AHEAD = timedelta(seconds=5)
"""What is written meanwhile by others may be a little ahead of `now`."""
LEASES = {Order.State.QUEUED: QUEUED_LEASE, Order.State.PLAYING: PLAYING_LEASE}


def shorten_leases(*, now: datetime) -> int:
    """Bring back what lies further in the future than it could have been put; return how many."""
    latest = now + AHEAD
    n_moved = Worker.objects.filter(last_seen_at__gt=latest).update(last_seen_at=now)
    open_orders = Order.objects.filter(Order.is_open())
    for state, lease in LEASES.items():
        late = open_orders.filter(state=state, deadline_at__gt=latest + lease)
        n_moved += late.update(deadline_at=now + lease)
    n_moved += open_orders.filter(missed_at__gt=latest).update(missed_at=None)
    if n_moved:
        log.warning("the clock was set back: %s times in the future were mended", n_moved)
    return n_moved
