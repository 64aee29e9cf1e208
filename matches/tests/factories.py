"""Arrange tournaments, nodes and reports as the real parts would make them."""

import base64
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from redis import Redis

from arena.credentials import gpu_key, head_key
from arena.messages import (
    ORDERS,
    ORDERS_WITH_SERVERS,
    Alive,
    Ending,
    MatchOrder,
    MatchOrderRow,
    Reason,
    ResultRow,
    Results,
    Started,
    read_order,
)
from arena.needs import CPU, Needs
from arena.queues import play_queue
from matches.artifacts.agents import register_spelled_agent
from matches.ledger import planning, recording
from matches.ledger.order_messages import build_order_message
from matches.ledger.relay import create_order, send_pending_matches
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import Agent, NodeKey, Tournament
from matches.nodes import node_keys
from matches.plans import TournamentPlan

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
NODE, INCARNATION = "node-1", "first-life"
LEVELS = ("level:10", "level:50", "level:90")


def later(seconds: float) -> datetime:
    """Return a moment so long after NOW."""
    return NOW + timedelta(seconds=seconds)


def scheduled(
    n_matches: int = 12,
    *,
    agents: Sequence[str | Agent] = LEVELS,
    game: str = "skill_game",
    board: str = "board",
    **plan: object,
) -> Tournament:
    """Return a tournament that control has not planned yet."""
    return schedule_tournament(
        TournamentPlan(name="test", n_matches=n_matches, **plan),  # type: ignore[arg-type]
        leaderboard=open_leaderboard(board, game=game),
        agents=[
            agent if isinstance(agent, Agent) else register_spelled_agent(agent, game=game)
            for agent in agents
        ],
    )


def planned(n_matches: int = 12, **options: object) -> Tournament:
    """Return a tournament whose matches are pending."""
    tournament = scheduled(n_matches, **options)  # type: ignore[arg-type]
    planning.plan_tournament(tournament, now=NOW)
    tournament.refresh_from_db()
    return tournament


def key_of(node: str) -> str:
    """Return the key of a node's reports; it is admitted if nobody has decided about it."""
    row, _ = NodeKey.objects.get_or_create(name=node, defaults={"created_at": NOW})
    return node_keys.derive_secret(row, "reports")


def alive(
    *,
    node: str = NODE,
    incarnation: str = INCARNATION,
    slots: int = 2,
    orders: Sequence[str] = (),
    capabilities: Sequence[str] = ("cpu",),
    place: str = "machine-1",
    now: datetime = NOW,
    **more: Any,
) -> None:
    """Let a node report that it is alive; more: other fields of its report."""
    report = Alive(
        node=node,
        incarnation=incarnation,
        slots=slots,
        capabilities=list(capabilities),
        orders=list(orders),
        key=gpu_key(settings.SECRET_KEY) if "gpu" in capabilities else key_of(node),
        place=place,
        load={"cpu": 0.5, "memory": 0.25},
        **{"versions": {"evalsite": "test", ORDERS: ORDERS_WITH_SERVERS}, **more},
    )
    recording.record_report(report, now=now)


def serve(
    name: str = "sim-1",
    *,
    slots: int = 4,
    game: str = "skill_game",
    rules: str = "1",
    now: datetime = NOW,
    **more: Any,
) -> None:
    """Let the head report that a game server is alive."""
    report = Alive(
        *(name, INCARNATION, slots, ["server"], {"rules": rules, "protocol": "1"}, []),
        key=head_key(settings.SECRET_KEY),
        game=game,
        **{"address": f"ws://10.0.0.1:8081/{name}", **more},
    )
    recording.record_report(report, now=now)


def sent(broker: Redis, *, now: datetime = NOW) -> list[MatchOrder]:
    """Let the relay send what it will, and take the orders off the real queue of NODE."""
    send_pending_matches(now=now)
    return popped(broker)


def ordered(
    tournament: Tournament,
    n_matches: int = 1_000,
    *,
    needs: str = CPU,
    node: str = NODE,
    now: datetime = NOW,
) -> MatchOrder:
    """Return an order of the next pending matches, as it would be sent to a node."""
    taken = create_order(tournament, Needs(needs), n_matches, queue=play_queue(node), now=now)
    assert taken is not None
    order, matches = taken
    return build_order_message(order, tournament, matches)


def popped(broker: Redis, node: str = NODE, *, most: int = 1_000) -> list[MatchOrder]:
    """Take orders off the real queue of a node, the oldest first."""
    orders: list[MatchOrder] = []
    while len(orders) < most and (raw := broker.rpop(play_queue(node))) is not None:
        assert isinstance(raw, bytes)
        (wire,), _, _ = json.loads(base64.b64decode(json.loads(raw)["body"]))
        orders.append(read_order(wire))
    return orders


def start(
    order: MatchOrder,
    *,
    node: str = NODE,
    incarnation: str = INCARNATION,
    now: datetime = NOW,
) -> None:
    """Let a node report that it has begun an order."""
    report = Started(
        node=node, incarnation=incarnation, order=order.order, token=order.token, key=key_of(node)
    )
    recording.record_report(report, now=now)


def first_wins(row: MatchOrderRow) -> ResultRow:
    """Return the result in which seat 0 wins."""
    return result(row, ranks=[0, 1])


def result(
    row: MatchOrderRow,
    *,
    ending: Ending = Ending.DONE,
    ranks: Sequence[int] = (),
    reason: Reason = Reason.NONE,
    seat: int = -1,
    duration_ms: float = 20,
    detail: str = "",
    **more: Any,
) -> ResultRow:
    """Return how one attempt ended."""
    return ResultRow(
        match=row.match,
        attempt=row.attempt,
        token=row.token,
        ending=ending,
        ranks=list(ranks),
        reason=reason,
        seat=seat,
        detail=detail,
        n_steps=2,
        duration_ms=duration_ms,
        actions="10 50",
        **more,
    )


def finished(
    order: MatchOrder,
    play: Callable[[MatchOrderRow], ResultRow] = first_wins,
    *,
    is_last: bool = True,
    executing: Sequence[int] = (),
) -> Results:
    """Return the report of an order whose matches were all played."""
    return reported(order, [play(row) for row in order.matches], is_last, executing)


def reported(
    order: MatchOrder,
    rows: Sequence[ResultRow],
    is_last: bool = True,
    executing: Sequence[int] = (),
) -> Results:
    """Return a report of these rows."""
    return Results(
        node=NODE,
        incarnation=INCARNATION,
        order=order.order,
        results=list(rows),
        executing=list(executing),
        is_last=is_last,
        key=key_of(NODE),
    )


def play_all(
    broker: Redis,
    play: Callable[[MatchOrderRow], ResultRow] = first_wins,
    *,
    now: datetime = NOW,
) -> None:
    """Send, play and record until nothing is pending."""
    alive(now=now)
    while play_all_once(broker, play, now=now):
        pass


def play_all_once(
    broker: Redis,
    play: Callable[[MatchOrderRow], ResultRow] = first_wins,
    *,
    now: datetime = NOW,
) -> int:
    """Send, play and record what the relay sends now; return how many orders that was."""
    orders = sent(broker, now=now)
    for order in orders:
        start(order, now=now)
        recording.record_report(finished(order, play), now=now)
    return len(orders)
