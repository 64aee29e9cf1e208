"""Verdicts look at results in planned order: what is over first, because it is, says nothing."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from redis import Redis

from arena.messages import MatchOrder, MatchOrderRow, ResultRow
from matches.campaigns import judging, paired_blocks, watching
from matches.campaigns.starting import count_known
from matches.ledger import planning, quarantine, recording, voiding
from matches.ledger.tournaments import cancel_tournament, conclude_tournament
from matches.models import Agent, Campaign, Leaderboard, Match, PairCount
from matches.operations import explain
from matches.ratings import closed_prefix, evidence, rater
from matches.ratings.entrants import entrants_of
from matches.ratings.evidence import gather_all_evidence
from matches.store.auditing import Actor
from matches.tests import boards, factories
from matches.tests.factories import later
from matches.tests.test_campaigns import campaign_of
from matches.tests.test_campaigns_ending import again

pytestmark = pytest.mark.django_db

PAIR = ("level:50", "level:51")
ROUND_ROBIN: dict[str, Any] = {"pairing": "double_round_robin", "max_matches": 200}


@pytest.fixture(autouse=True)
def _broker(valkey_url: str) -> None:
    Redis.from_url(valkey_url).flushall()


def planned(question: str, **plan: Any) -> tuple[Campaign, MatchOrder]:
    """Return a campaign of two agents whose matches are all with a node."""
    campaign = campaign_of(question, agents=PAIR, **{**ROUND_ROBIN, **plan})
    planning.plan_scheduled(now=later(0))
    factories.alive(now=later(0))
    order = factories.ordered(campaign.tournament, 200, now=later(0))
    factories.start(order, now=later(0))
    return campaign, order


def first_of_pair() -> int:
    """Return the agent named first."""
    return Agent.objects.order_by("pk").values_list("pk", flat=True)[0]


def result(row: MatchOrderRow, *, is_won: bool) -> ResultRow:
    """Return the result of the first agent of the pair."""
    seat = Match.objects.get(pk=row.match).agent_ids.index(first_of_pair())
    return factories.result(row, ranks=[int(is_won == (place != seat)) for place in range(2)])


def record(
    order: MatchOrder, is_won: Callable[[int], bool], places: Sequence[int], *, at: float
) -> None:
    """Record the matches at these places of the order, then count and judge."""
    rows = [result(order.matches[place], is_won=is_won(place)) for place in places]
    report = factories.reported(order, rows, is_last=False)
    recording.record_report(report, now=later(at))
    rater.rate_all(now=later(at + 1))
    judging.judge_all(now=later(at + 1))


def alternating(place: int) -> bool:
    """Say whether the first agent wins a match: both games of every second block."""
    return place // 2 % 2 == 0


WON = [place for place in range(120) if alternating(place)]
LOST = [place for place in range(120) if not alternating(place)]


@pytest.mark.parametrize(
    ("question", "parameters"),
    [("sprt", {"elo1": 100.0}), ("beats", {"lead": 0.0}), ("best", {}), ("rank_all", {})],
)
def test_wins_that_are_over_first_decide_nothing(question: str, parameters: object) -> None:
    campaign, order = planned(question, parameters=parameters)
    record(order, alternating, WON, at=1)
    row = again(campaign)
    assert row.decided_at is None, row.statement
    assert row.n_judged == 2, "both games of the first block: the second block is open"
    record(order, alternating, LOST, at=5)
    row = again(campaign)
    assert (row.decided_at, row.n_judged) == (None, 120)


def test_results_behind_an_open_match_are_no_evidence_for_anybody_until_it_is_over() -> None:
    campaign, order = planned("best")
    record(order, alternating, range(1, 21), at=1)
    board, agents = Leaderboard.objects.get(), list(Agent.objects.order_by("pk"))
    assert count_known(board, agents).n_matches == 0
    pair = entrants_of(campaign.tournament)
    assert paired_blocks.load_blocks(board, *pair).outcomes == []
    assert gather_all_evidence(board, pair).counts.n_results == 20, (
        "ratings are made of all that is over"
    )
    record(order, alternating, [0], at=5)
    assert count_known(board, agents).n_matches == 21
    assert sum(paired_blocks.load_blocks(board, *pair).counts) == 10


def test_what_was_cancelled_while_it_was_played_ends_the_prefix_for_good() -> None:
    campaign, order = planned("best", error=1e-9)
    record(order, alternating, [*range(6), *range(8, 20)], at=1)
    cancel_tournament(campaign.tournament, now=later(5))
    rater.rate_all(now=later(6))
    board, agents = Leaderboard.objects.get(), list(Agent.objects.order_by("pk"))
    assert count_known(board, agents).n_matches == 6


def test_a_void_match_is_passed() -> None:
    campaign, order = planned("best", error=1e-9)
    Match.objects.filter(pk=order.matches[0].match).update(state=Match.State.VOID)
    record(order, alternating, range(1, 21), at=1)
    assert again(campaign).n_judged == 20


def test_in_other_tournaments_what_was_never_sent_is_passed() -> None:
    other = factories.planned(20, agents=PAIR, board="other")
    order = factories.ordered(other, 20)
    factories.start(order)
    Match.objects.filter(pk=order.matches[0].match).update(
        state=Match.State.PENDING, attempt=0, order=None
    )
    rows = [factories.first_wins(row) for row in order.matches[1:]]
    recording.record_report(factories.reported(order, rows, is_last=False), now=later(1))
    rater.rate_all(now=later(2))
    agents = list(Agent.objects.order_by("pk"))
    assert count_known(other.leaderboard, agents).n_matches == 19
    Match.objects.filter(pk=order.matches[0].match).update(attempt=1)
    assert count_known(other.leaderboard, agents).n_matches == 0, "it may be slow for its result"


def test_it_is_said_what_the_verdict_waits_for() -> None:
    campaign, order = planned("best", error=1e-9)
    record(order, alternating, [*range(2, 10), *range(12, 20)], at=1)
    waits = closed_prefix.find_waiting_results(campaign.tournament)
    assert waits is not None
    assert (waits.n_blocks, waits.n_results) == (2, 16)
    sentence = "2 blocks planned earlier are still being played: 16 results behind them wait"
    explanation = explain.of_campaign(again(campaign), now=later(3))
    assert any(sentence in what for what in explanation.waits_for)


def test_a_block_of_an_agent_in_quarantine_is_said_to_hold_the_verdict_up() -> None:
    campaign = campaign_of("best", agents=("level:5", "level:50", "level:90"), **ROUND_ROBIN)
    planning.plan_scheduled(now=later(0))
    agent = campaign.tournament.agents.get(name="level:5")
    quarantine.quarantine_agent(agent, actor=Actor("anna"), reason="it hangs", now=later(1))
    held = [agent.pk]
    others = Match.objects.filter(tournament=campaign.tournament).exclude(seat_rows__agent__in=held)
    Match.objects.filter(pk__in=others.values("pk")).update(state=Match.State.DONE)
    waits = explain.of_campaign(again(campaign), now=later(3)).waits_for
    assert any("the first of them is of level:5, which is in quarantine" in what for what in waits)


def test_the_counts_and_the_matches_that_are_read_are_of_one_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    campaign, order = planned("best", error=1e-9)

    def while_it_is_counted(*args: object, **options: object) -> object:
        late = closed_prefix.find_late_results(*args, **options)  # type: ignore[arg-type]
        Leaderboard.objects.update(n_counted=99)
        return late

    with monkeypatch.context() as broken:
        broken.setattr(evidence, "find_late_results", while_it_is_counted)
        record(order, alternating, range(10), at=1)
    assert again(campaign).n_judged == 0
    judging.judge_all(now=later(4))
    assert again(campaign).n_judged == 10


def test_late_results_of_a_board_with_finished_tournaments_cost_no_scan(
    django_assert_max_num_queries: Callable[..., AbstractContextManager[object]],
) -> None:
    for n in range(12):
        done = factories.planned(6, agents=PAIR, board=f"board-{n}", seed=n)
        boards.play_some(done, 6, boards.by_strength())
        rater.rate(done.leaderboard_id, now=later(1))
    leaderboards = list(Leaderboard.objects.order_by("pk"))
    agents = list(Agent.objects.values_list("pk", flat=True))
    with django_assert_max_num_queries(2):
        assert closed_prefix.find_late_results(leaderboards, agents) == closed_prefix.NOTHING_LATE
    assert PairCount.objects.count() == 24


def test_the_alarm_of_a_watch_is_the_verdict_of_its_campaign() -> None:
    campaign, order = planned("beats", parameters={"a": 0, "b": 1, "lead": 0.5})
    record(order, alternating, WON, at=1)
    assert watching.raise_alarm(again(campaign), level=0.95, now=later(3)) is None
    chance = watching.chance_of_regression(again(campaign))
    assert chance is not None
    assert chance < 0.95
    record(order, lambda _: True, LOST, at=5)
    row = again(campaign)
    assert row.why == "decided"
    alarm = watching.raise_alarm(row, level=0.95, now=later(8))
    assert alarm is not None
    assert alarm.probability == row.probability


def test_campaigns_that_are_over_are_not_read_again_at_each_look() -> None:
    planned = factories.planned(8)
    factories.alive()
    order = factories.ordered(planned, 6)
    factories.start(order)
    rows = [factories.first_wins(row) for row in order.matches[1:5]]
    recording.record_report(factories.reported(order, rows, is_last=False), now=factories.NOW)
    conclude_tournament(planned, now=factories.NOW)
    rater.rate_all(now=later(1))
    board, agents = planned.leaderboard, entrants_of(planned)

    def looked() -> tuple[frozenset[int], int]:
        with CaptureQueriesContext(connection) as queries:
            late = closed_prefix.find_late_results([board], agents)
        return late.matches, len(queries)

    late = frozenset(row.match for row in rows)
    assert looked()[0] == late
    assert looked() == (late, 2)
    voiding.void_matches([rows[0].match], actor=Actor("test"), reason="test", now=later(2))
    assert looked()[0] == late - {rows[0].match}
