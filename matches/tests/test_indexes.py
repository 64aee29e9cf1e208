"""No query of control or recorder grows with the matches that are finished.

Query plans do not tell (SQLite plans again when bound values are known), so the steps of its
virtual machine are counted.
"""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from redis import Redis

from arena.message_tokens import mark_token
from arena.messages import Mark, MatchOrder, Reason
from arena.queues import play_queue
from matches.ledger import order_states, recorder_marks, recording, relay, voiding
from matches.ledger.sweep import give_up_lost_orders
from matches.ledger.tournaments import cancel_tournament
from matches.models import Match, Order, Tournament
from matches.ratings import rater
from matches.store.auditing import Actor
from matches.store.signing import derive_key
from matches.tests import factories as make
from matches.tests.database_steps import count_steps

pytestmark = pytest.mark.django_db
N_FEW, N_MANY = 500, 5_000


def _board(n_finished: int) -> Tournament:
    """Return a tournament of which so many matches are finished and 200 are pending."""
    tournament = make.planned(n_finished + 200, board=f"board-{n_finished}", seed=n_finished)
    Match.objects.filter(tournament=tournament, sequence__lte=n_finished).update(
        state=Match.State.DONE
    )
    Tournament.objects.update(mean_match_s=0.05)
    Order.objects.bulk_create(
        Order(
            tournament=tournament,
            queue=play_queue(make.NODE),
            n_matches=1,
            state=Order.State.CLOSED,
            node=make.NODE,
            created_at=make.NOW,
            deadline_at=make.NOW,
        )
        for _ in range(n_finished)
    )
    make.alive()
    return tournament


def _round(tournament: Tournament) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield every duty of control and recorder, in an order in which each has work to do."""
    first, second = make.ordered(tournament, 40), make.ordered(tournament, 40)
    yield "start", lambda: make.start(first)
    yield "record", lambda: recording.record_report(make.finished(first), now=make.NOW)
    yield "rate", lambda: rater.rate(tournament.leaderboard_id, now=make.later(1))
    yield "lose", lambda: order_states.lose_order(_row(second), reason=Reason.EXPIRED, now=make.NOW)
    yield "alive", lambda: make.alive(orders=[first.order])
    yield "relay", lambda: relay.send_pending_matches(now=make.NOW)
    recorder_marks.note_mark(_mark())
    yield "sweep", lambda: give_up_lost_orders(now=make.NOW, waiting={play_queue(make.NODE): ()})
    yield "void", lambda: _void(tournament.matches.latest("sequence"))
    yield "cancel", lambda: cancel_tournament(tournament, now=make.NOW)


def _void(match: Match) -> None:
    voiding.void_matches([match.pk], actor=Actor("anna"), reason="a stuck clock", now=make.NOW)


def _mark() -> Mark:
    at = make.NOW.isoformat()
    return Mark(at=at, token=mark_token(derive_key(), at))


def _close_all() -> None:
    Match.objects.update(state=Match.State.DONE)
    Order.objects.update(state=Order.State.CLOSED)
    Tournament.objects.update(state=Tournament.State.DONE)


def _row(order: MatchOrder) -> Order:
    return Order.objects.get(uuid=order.order)


def test_no_duty_grows_with_the_finished_matches(broker: Redis) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("counts the steps of SQLite")
    few = {name: count_steps(work) for name, work in _round(_board(N_FEW))}
    _close_all()
    many = {name: count_steps(work) for name, work in _round(_board(N_MANY))}
    grown = {name: many[name] / few[name] for name in few if many[name] > 1.3 * few[name]}
    assert grown == {}
