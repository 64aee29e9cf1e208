"""Whether a report is of the node that it names: each carries a key that only that node has."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F

from arena.credentials import gpu_key, head_key
from arena.machine import SPOT
from arena.messages import Alive, Results, Started
from arena.needs import GPU, SERVER
from matches.models import NodeKey, Worker
from matches.nodes import node_keys
from matches.store.clock import ALIVE_WITHIN
from matches.store.formats import format_count
from matches.store.signing import is_same_token

log = logging.getLogger(__name__)

FORGED_WITHIN = timedelta(hours=1)
"""How long a refused report is shown."""

Signed = Alive | Started | Results


def list_warnings(worker: Worker, *, now: datetime) -> list[str]:
    """Return what is wrong with who reports in a node's name, and what to do; most have nothing."""
    warnings = []
    if worker.rival_seen_at is not None and now - worker.rival_seen_at <= ALIVE_WITHIN:
        # The newer one is refused: what it says of its slots and capabilities is not gone by.
        what_to_do = "give each its own name and key, and start the newer one again"
        warnings.append(f"two nodes call themselves {worker.node}: {what_to_do}")
    if worker.forged_at is not None and now - worker.forged_at <= FORGED_WITHIN:
        what_to_do = "look for a node that was set up with another key"
        were = "was" if worker.n_forged == 1 else "were"
        reports = f"{format_count(worker.n_forged, 'report')} in its name without its key"
        warnings.append(f"{reports} {were} refused: {what_to_do}")
    return warnings


def read_keys(reports: Iterable[Signed]) -> dict[str, str]:
    """Return the keys of the nodes that these reports name; a node that is not admitted has none.

    Read anew for each batch: a key that is replaced or revoked counts no more from then on.
    """
    names = {report.node for report in reports}
    admitted = NodeKey.objects.filter(name__in=names, revoked_at=None)
    return {key.name: node_keys.derive_secret(key, "reports") for key in admitted}


def is_genuine(report: Signed, keys: dict[str, str]) -> bool:
    """Say whether a report carries the key of its node.

    Gpu workers play nothing and share one; the head has one, for the game servers it reports for.
    """
    key = keys.get(report.node)
    if isinstance(report, Alive) and SERVER in report.capabilities:
        is_free = key is None and report.capabilities == [SERVER]
        return is_free and is_same_token(head_key(settings.SECRET_KEY), report.key)
    if isinstance(report, Alive) and GPU in report.capabilities:
        # Not in the name of a play node, whose row it would overwrite; nor as one that plays too.
        is_free = key is None and {GPU, SPOT}.issuperset(report.capabilities)
        return is_free and is_same_token(gpu_key(settings.SECRET_KEY), report.key)
    return key is not None and is_same_token(key, report.key)


def note_forged(report: Signed, *, now: datetime) -> None:
    """Count a report without the key of its node where its node is shown."""
    log.warning("a report in the name of %r without its key was refused", report.node)
    Worker.objects.filter(node=report.node).update(n_forged=F("n_forged") + 1, forged_at=now)
