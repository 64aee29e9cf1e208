"""Send pending matches to the play nodes: commit first, publish after.

Each node has a queue of its own and every order is addressed to one node, so one that is slow,
lost or in quarantine holds up only what was addressed to it.
"""

import heapq
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from threading import Lock
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F

from arena.games import registry as games
from arena.games.base import CHILD, GameSpec
from arena.needs import SERVER, Needs
from matches import dispatch
from matches.errors import BrokerError
from matches.ledger import begun_matches, code_versions, order_balancing
from matches.ledger.order_messages import OrderedMatch, build_order_message
from matches.models import Match, Order, Tournament
from matches.nodes import fair_shares
from matches.nodes.play_nodes import ORDER_AIM_S, ORDERS_PER_NODE, PlayNode, read_play_nodes
from matches.store import disk, selectors
from matches.store.bulk import among
from matches.store.clock import QUEUED_LEASE
from matches.store.game_servers import GameServer, ServerPool, deal_matches
from matches.store.match_needs import list_pending_needs
from matches.store.plugin_files import Files, list_files

log = logging.getLogger(__name__)

# Work that an order aims at where networks decide, as all its matches share their forwards; or
# where it starts a child process that plays its game.
LONG_AIM_S = 10.0
# Matches a slot in an order while the length of a match is not known: it may be an hour.
FIRST_PER_SLOT = 1
# The same of networks, whose matches advance together: many take little longer than one.
FIRST_NETWORKED_PER_SLOT = 64
MAX_ORDER = 1_000

# Control has two threads: both would see the same room on a node and fill it twice.
_relayer = Lock()
# By queue: the order that has waited longest and that a new tournament was let before.
_overtaken: dict[str, tuple[int, UUID] | None] = {}


@dataclass
class RelayPass:
    """What one pass of the relay sees of nodes, held agents and pending matches."""

    nodes: Sequence[PlayNode]
    held_agents: Sequence[int]
    """Agents whose matches wait."""
    services: frozenset[str]
    """What answers players now."""
    pool: ServerPool
    pending: dict[int, list[Needs]] = field(default_factory=dict)
    """By tournament: what its pending matches need, of those that are not held."""
    n_sent: int = 0

    def list_playable_needs(self, node: PlayNode, tournament: Tournament) -> list[Needs]:
        """Return what needs of a tournament's matches a node can meet now."""
        if tournament.pk not in self.pending:
            self.pending[tournament.pk] = list_pending_needs(tournament.pk)
        pending, files = self.pending[tournament.pk], list_files(tournament)
        playable = [n for n in pending if n.services <= self.services and node.can_play(n, files)]
        return [n for n in playable if SERVER not in n.services or self.list_servers(n, tournament)]

    def list_servers(self, needs: Needs, tournament: Tournament) -> list[GameServer]:
        """Return the game servers that have room for matches of these needs; none is asked for."""
        return self.pool.list_free(_get_spec(tournament)) if SERVER in needs.services else []

    def count_slots(self, needs: Needs, files: Files) -> int:
        """Return the slots of all nodes that could play matches with these needs."""
        return sum(node.slots for node in self.nodes if node.can_play(needs, files))


def send_pending_matches(*, now: datetime) -> int:
    """Send orders until every node has enough to do; return how many were sent.

    A match for which no node or gpu worker is alive waits: in a queue it would only expire.
    """
    # What is with nodes shall still find room for its results.
    if shortage := disk.describe_shortage():
        log.warning("nothing is sent: %s", shortage)
        return 0
    with _relayer:
        relay_pass = RelayPass(
            read_play_nodes(now=now),
            selectors.list_quarantined_agents(),
            selectors.list_services(now=now),
            ServerPool(now=now),
        )
        try:
            _fill_nodes(relay_pass, now=now)
            _begin_new_tournaments(relay_pass, now=now)
            order_balancing.feed_idle_nodes(relay_pass.nodes)
        except BrokerError as error:
            log.warning("nothing more is sent until the next tick: %s", error)
        return relay_pass.n_sent


def _fill_nodes(relay_pass: RelayPass, *, now: datetime) -> None:
    """Give the node with the least work the next order, until none has room or nothing is left."""
    waiting = [(node.load, node) for node in relay_pass.nodes if node.has_room]
    heapq.heapify(waiting)  # names differ, so two nodes are never compared themselves
    while waiting:
        _, node = heapq.heappop(waiting)
        active = _list_active_tournaments()
        at = fair_shares.find_current_place(active)
        due = sorted(active, key=lambda row: fair_shares.find_next_begin(row, at))
        if any(_send_order(row, node, relay_pass, at, now=now) for row in due):
            relay_pass.n_sent += 1
            if node.has_room:
                heapq.heappush(waiting, (node.load, node))


def compute_order_size(
    tournament: Tournament,
    *,
    slots: int,
    all_slots: int,
    is_networked: bool = False,
    starts_child: bool = False,
    longest_s: float | None = None,
) -> int:
    """Return how many matches the next order of a node holds, by its share of all slots.

    starts_child: a process of its own plays its game.
    longest_s: how long it may last, so that a node that is soon gone loses little.
    """
    left = tournament.n_planned - tournament.n_closed
    share = ceil(left * slots / (all_slots if is_networked else 2 * all_slots))
    if tournament.mean_match_s is None:
        are_many = is_networked and longest_s is None
        per_slot: float = FIRST_NETWORKED_PER_SLOT if are_many else FIRST_PER_SLOT
    else:
        aim_s = LONG_AIM_S if is_networked or starts_child else ORDER_AIM_S
        aim_s = aim_s if longest_s is None else min(aim_s, longest_s)
        # One per slot at least: a node plays one order after the other.
        per_slot = max(1.0, aim_s / max(tournament.mean_match_s, 1e-6))
    aim = int(per_slot * slots)
    return max(1, min(aim, share, tournament.order_limit or MAX_ORDER, MAX_ORDER))


def _send_order(
    tournament: Tournament, node: PlayNode, relay_pass: RelayPass, at: float, *, now: datetime
) -> bool:
    """Send a node an order of this tournament, if something is pending that it can play."""
    # One at a time while the length of a match is not known: others are not to wait for it.
    if tournament.pk in node.untimed:
        return False
    claimed = _take_next(tournament, node, relay_pass, now=now)
    if claimed is None:
        return False
    order, matches = claimed
    # Committed before it is sent: a node may report a match before a later commit would show it.
    try:
        dispatch.publish_order(build_order_message(order, tournament, matches), order.queue)
    except BrokerError:
        withdraw_order(order, now=now)
        log.warning("order %s is taken back", order.pk)
        raise
    fair_shares.charge_order(tournament, at, order.n_matches)
    work = (tournament.pk, order.n_matches, tournament.mean_match_s)
    node.add_waiting(*work, order=(order.pk, order.uuid))
    return True


def _begin_new_tournaments(relay_pass: RelayPass, *, now: datetime) -> None:
    """Send the first order of every new tournament, before the orders that wait.

    So its first match starts as soon as a node has played what it plays, however full the queues,
    and the length of its matches is known early.
    """
    begun = {pk for node in relay_pass.nodes for pk in node.untimed}
    active = _list_active_tournaments()
    at = fair_shares.find_current_place(active)
    for tournament in active:
        if tournament.mean_match_s is None and tournament.pk not in begun:
            full = [node for node in relay_pass.nodes if node.n_orders <= ORDERS_PER_NODE]
            for node in sorted(full, key=lambda node: (node.free_at or now, node.load)):
                waiting = node.next_order
                if _send_order(tournament, node, relay_pass, at, now=now):
                    relay_pass.n_sent += 1
                    # Once before each that waits: or new ones, while they come, would let no other
                    # be played.
                    if _overtaken.get(node.queue) != waiting:
                        dispatch.move_newest_first(node.queue)
                        _overtaken[node.queue] = waiting
                    break


def _take_next(
    tournament: Tournament, node: PlayNode, relay_pass: RelayPass, *, now: datetime
) -> tuple[Order, Sequence[OrderedMatch]] | None:
    """Return a new order of a tournament for this node; None when nothing is pending for it."""
    needs = _find_earliest_needs(tournament, node, relay_pass)
    if needs is None:
        return None
    servers = relay_pass.list_servers(needs, tournament)
    claimed = create_order(
        *(tournament, needs, _choose_order_size(tournament, needs, node, relay_pass, servers)),
        queue=node.queue,
        now=now,
        held_agents=relay_pass.held_agents,
        carries=node.reads_actions,
    )
    if servers and claimed is not None:
        order, matches = claimed
        order.servers = deal_matches([match.pk for match in matches], servers)
        order.save(update_fields=("servers",))
        relay_pass.pool.take(order.servers)
    return claimed


def _find_earliest_needs(
    tournament: Tournament, node: PlayNode, relay_pass: RelayPass
) -> Needs | None:
    """Return the needs of the first pending match that a node can play; None when there is none."""
    playable = relay_pass.list_playable_needs(node, tournament)
    pending = selectors.filter_matches_to_send(tournament.pk, held_agents=relay_pass.held_agents)
    in_order = pending.order_by("sequence").values_list("sequence", flat=True)
    # A look-up per need, as the index has it.
    firsts = {needs: in_order.filter(needs=needs).first() for needs in playable}
    waiting = [(first, needs) for needs, first in firsts.items() if first is not None]
    for needs in (needs for needs, first in firsts.items() if first is None):
        relay_pass.pending[tournament.pk].remove(needs)
    return min(waiting)[1] if waiting else None


def _choose_order_size(
    tournament: Tournament,
    needs: Needs,
    node: PlayNode,
    relay_pass: RelayPass,
    servers: Sequence[GameServer],
) -> int:
    """Return how many matches of these needs a node is sent; servers: where they are dealt to."""
    all_slots = relay_pass.count_slots(needs, list_files(tournament))
    size = compute_order_size(
        tournament,
        slots=node.slots,
        all_slots=all_slots,
        is_networked=needs.is_networked,
        starts_child=_get_spec(tournament).served == CHILD,
        longest_s=node.longest_s,
    )
    if not servers:
        return size
    # Not all that is free: the next node would be left without any.
    share = ceil(relay_pass.pool.count_slots(_get_spec(tournament)) * node.slots / all_slots)
    return min(size, share, sum(server.n_free for server in servers))


def _get_spec(tournament: Tournament) -> GameSpec:
    return games.get(tournament.leaderboard.game).spec


def _list_active_tournaments() -> Sequence[Tournament]:
    """Return the tournaments that may have pending matches, the oldest first.

    Not those whose game cannot be used here: an order of them could not even be written.
    """
    active = Tournament.objects.filter(state__in=Tournament.PLAYING)
    return code_versions.filter_runnable(active.select_related("leaderboard").order_by("pk"))


@transaction.atomic
def create_order(
    tournament: Tournament,
    needs: Needs,
    n: int,
    *,
    queue: str,
    now: datetime,
    held_agents: Sequence[int] = (),
    carries: bool = True,
) -> tuple[Order, Sequence[OrderedMatch]] | None:
    """Put the next pending matches of these needs into a new order; None when none is pending.

    Those of the held agents wait. carries: matches that were begun go on where they were left.
    """
    pending = selectors.filter_matches_to_send(tournament.pk, held_agents=held_agents).filter(
        needs=needs
    )
    if connection.features.has_select_for_update_skip_locked:
        pending = pending.select_for_update(skip_locked=True)
    columns = ("pk", "attempt", "game_seed", "lineup")
    rows = pending.order_by("sequence").values_list(*columns)[:n]
    matches = [OrderedMatch(pk, last + 1, seed, lineup) for pk, last, seed, lineup in rows]
    if not matches:
        return None
    order = Order.objects.create(
        tournament=tournament,
        queue=queue,
        n_matches=len(matches),
        created_at=now,
        deadline_at=now + QUEUED_LEASE,
    )
    # The rows are locked (SQLite: the whole database), so they are the ones read above.
    Match.objects.filter(pk__in=among([match.pk for match in matches])).update(
        state=Match.State.QUEUED, attempt=F("attempt") + 1, order=order
    )
    retried = [match.pk for match in matches if match.attempt > 1]
    if carries and retried and begun_matches.can_go_on(tournament):
        played = begun_matches.read_actions(retried)
        matches = [match._replace(actions=played.get(match.pk, "")) for match in matches]
    return order, matches


@transaction.atomic
def withdraw_order(order: Order, *, now: datetime) -> None:
    """Put the matches of an order that was not published back; nobody has played them."""
    # Nor was that an attempt: its number would be missing from the list of attempts.
    Order.objects.filter(pk=order.pk).update(state=Order.State.CLOSED, closed_at=now)
    Match.objects.filter(Match.is_in_flight(), order=order).update(
        state=Match.State.PENDING, attempt=F("attempt") - 1, order=None
    )
