"""Fair shares: several tournaments divide the nodes by their weights, and none starves."""

from collections import defaultdict
from collections.abc import Mapping

import pytest
from redis import Redis

from arena.messages import MatchOrder, ResultRow
from matches.ledger import planning, quarantine, recording
from matches.models import Match, Order, Tournament
from matches.nodes import fair_shares
from matches.store.auditing import Actor
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
SLOTS = 2


class _Node:
    """One node that plays its orders one after the other, in simulated time."""

    def __init__(self, broker: Redis, match_s: Mapping[int, float]) -> None:
        self.broker, self.match_s = broker, match_s
        self.waiting: list[MatchOrder] = []
        self.at_s = 0.0
        self.busy_s: defaultdict[int, float] = defaultdict(float)

    def play(self, until_s: float) -> None:
        """Play what the relay sends until then."""
        while self.at_s < until_s:
            make.alive(slots=SLOTS, now=make.later(self.at_s))
            self.waiting += make.sent(self.broker, now=make.later(self.at_s))
            if not self.waiting:
                return
            self._play_next()

    def _play_next(self) -> None:
        order = self.waiting.pop(0)
        tournament = Order.objects.get(uuid=order.order).tournament_id
        length_s = self.match_s[tournament]
        make.start(order, now=make.later(self.at_s))
        work_s = len(order.matches) * length_s
        self.at_s += work_s / SLOTS
        self.busy_s[tournament] += work_s

        rows: list[ResultRow] = [
            make.result(row, ranks=[0, 1], duration_ms=round(1_000 * length_s))
            for row in order.matches
        ]
        recording.record_report(make.reported(order, rows), now=make.later(self.at_s))


def _tournament(
    name: str, *, weight: int = 1, match_s: float, n_matches: int = 800, **options: object
) -> Tournament:
    """Return one whose length of a match is known already."""
    tournament = make.planned(n_matches, board=name, weight=weight, match_s=600, **options)
    Tournament.objects.filter(pk=tournament.pk).update(mean_match_s=match_s)
    return tournament


def _shares(busy_s: Mapping[int, float]) -> list[float]:
    total = sum(busy_s.values())
    return [busy_s[pk] / total for pk in sorted(busy_s)]


def test_slot_seconds_follow_the_weights_whatever_the_length_of_a_match(broker: Redis) -> None:
    lengths = {_tournament("light", match_s=0.2).pk: 0.2}
    lengths[_tournament("heavy", weight=3, match_s=2.0).pk] = 2.0
    node = _Node(broker, lengths)
    node.play(until_s=80)
    assert _shares(node.busy_s) == pytest.approx([1 / 4, 3 / 4], abs=0.05)


def test_of_eight_others_with_more_weight_none_keeps_one_from_going_on(broker: Redis) -> None:
    others = [_tournament(f"other-{n}", weight=3, match_s=0.5, n_matches=120) for n in range(8)]
    light = _tournament("light", match_s=0.5, n_matches=120)
    node = _Node(broker, {row.pk: 0.5 for row in (*others, light)})
    node.play(until_s=100)
    assert node.busy_s[light.pk] / sum(node.busy_s.values()) == pytest.approx(1 / 25, abs=0.02)
    assert min(node.busy_s[row.pk] for row in others) > 0.8 * max(node.busy_s.values())


def test_what_is_not_wanted_goes_to_the_others_and_is_not_saved_up(broker: Redis) -> None:
    agents = ("level:20", "level:60")
    held = _tournament("held", weight=3, match_s=0.5, agents=agents)
    steady = _tournament("steady", match_s=0.5)
    node = _Node(broker, {held.pk: 0.5, steady.pk: 0.5})
    bad = held.agents.earliest("pk")
    quarantine.quarantine_agent(bad, actor=Actor("anna"), reason="it stalls", now=make.NOW)
    node.play(until_s=60)
    assert node.busy_s[held.pk] == 0
    quarantine.release_agent(bad, actor=Actor("anna"), reason="", now=make.NOW)
    before = dict(node.busy_s)
    node.play(until_s=140)
    since = {pk: node.busy_s[pk] - before.get(pk, 0.0) for pk in node.busy_s}
    assert _shares(since) == pytest.approx([3 / 4, 1 / 4], abs=0.05)


def test_one_that_adapts_and_has_little_pending_gets_what_it_asks_for(broker: Redis) -> None:
    adaptive = make.scheduled(
        400, board="adaptive", pairing="order_information", weight=3, match_s=600
    )
    steady = _tournament("steady", match_s=0.5)
    node = _Node(broker, {adaptive.pk: 0.5, steady.pk: 0.5})
    for until_s in range(2, 40, 2):
        planning.plan_scheduled(now=make.later(node.at_s))
        node.play(until_s=float(until_s))
    n_done = Match.objects.filter(tournament=adaptive, state=Match.State.DONE).count()
    n_asked = Match.objects.filter(tournament=adaptive).count()
    assert n_done > 0.7 * n_asked
    assert node.busy_s[steady.pk] > node.busy_s[adaptive.pk] / 3.5


def test_one_that_comes_later_begins_where_the_others_are(broker: Redis) -> None:
    here, other = make.planned(8, board="a"), make.planned(8, board="b", weight=2)
    here.shares, other.mean_match_s = {"nodes": [50.0, 60.0, 0]}, 0.5
    at = fair_shares.find_current_place([here, other])
    assert (at, fair_shares.find_next_begin(here, at), fair_shares.find_next_begin(other, at)) == (
        50.0,
        60.0,
        50.0,
    )
    fair_shares.charge_order(other, at, 8)
    other.refresh_from_db()
    assert other.shares == {"nodes": [50.0, 52.0, 0]}


@pytest.mark.parametrize(("match_s", "ends"), [(0.01, 100.02), (90.0, 280.0)])
def test_what_was_charged_by_a_guess_is_corrected_once_the_length_is_known(
    broker: Redis, match_s: float, ends: float
) -> None:
    new = make.planned(8, weight=2)
    for _ in range(2):
        fair_shares.charge_order(new, 100.0, 2)
    assert fair_shares.find_next_begin(new, 0.0) == 100.0 + 4 * fair_shares.GUESS_S / 2
    new.mean_match_s = match_s
    assert fair_shares.find_next_begin(new, 0.0) == pytest.approx(ends)
    fair_shares.charge_order(new, 0.0, 1)
    new.refresh_from_db()
    assert fair_shares.find_next_begin(new, 0.0) == pytest.approx(ends + match_s / 2), "once only"


def test_a_small_tournament_of_short_matches_does_not_starve_beside_a_large_one(
    broker: Redis,
) -> None:
    large = _tournament("large", match_s=0.005, n_matches=20_000)
    node = _Node(broker, {large.pk: 0.005})
    node.play(until_s=4)
    small = make.planned(60, board="small", match_s=600)
    node.match_s = {**node.match_s, small.pk: 0.005}
    node.play(until_s=12)
    small.refresh_from_db()
    assert small.n_done == 60
