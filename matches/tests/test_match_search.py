"""The list of matches: every filter finds what it says, by key, without reading all others."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from redis import Redis

from arena.messages import Ending, MatchOrderRow, Reason, ResultRow
from matches.ledger import planning, voiding
from matches.ledger.tournaments import cancel_tournament, schedule_tournament
from matches.models import Agent, Attempt, Match, Outcome, Tournament
from matches.plans import TournamentPlan
from matches.ratings import rater
from matches.store import match_search, match_sources
from matches.store.auditing import Actor
from matches.store.match_query import OPEN, RESULTS, MatchQuery
from matches.store.match_search import MatchPage, find_matches
from matches.store.match_sources import Source
from matches.store.pair_search import find_pair_matches
from matches.tests import boards, factories
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db
LIMIT = 500


def _ids(query: MatchQuery, **page: Any) -> list[int]:
    return [match.pk for match in find_matches(query, **{"limit": LIMIT, **page}).matches]


def _all() -> list[Match]:
    return list(Match.objects.select_related("outcome").order_by("-pk"))


def _chosen(fits: Callable[[Match], object]) -> list[int]:
    return [match.pk for match in _all() if fits(match)]


@pytest.fixture
def played(broker: Redis) -> Tournament:
    """Return a tournament of 84 matches with wins, draws and forfeits."""
    tournament = boards.planned_board(n_matches=84)
    boards.play_some(tournament, 84, boards.by_strength(forfeits=0.1))
    factories.scheduled(board="empty", agents=("random", "greedy"), game="chess")
    return tournament


def test_without_a_filter_all_come_newest_first(played: Tournament) -> None:
    assert _ids(MatchQuery()) == _chosen(lambda _: True)


def test_pages_are_cut_by_key_and_leave_none_out(played: Tournament) -> None:
    agent = played.agents.earliest("pk").pk
    for query in (
        MatchQuery(),
        MatchQuery(agents=(agent,)),
        MatchQuery(tournament=played.pk),
        MatchQuery(agents=(agent,), result="lost"),
        MatchQuery(leaderboard=played.leaderboard_id, result="won"),
        MatchQuery(node=factories.NODE),
    ):
        ids, before = list[int](), None
        while True:
            page = find_matches(query, before=before, limit=7)
            ids += [match.pk for match in page.matches]
            if page.before is None:
                break
            before = page.before
        assert ids == _ids(query), query
        assert len(ids) == len(set(ids)) > 0


@pytest.mark.parametrize("seat", [None, 0, 1])
@pytest.mark.parametrize("result", ["won", "drawn", "lost", "forfeit"])
def test_results_are_those_of_the_agent_in_its_seat(
    played: Tournament, result: str, seat: int | None
) -> None:
    agent = Agent.objects.get(name="greedy", game="connect_four").pk

    def fits(match: Match) -> bool:
        own, ranks = match.agent_ids.index(agent), match.outcome.ranks
        own_result = {"0,0": "drawn", f"{own},{1 - own}": "won"}.get(ranks, "lost")
        is_guilty = match.outcome.guilty_seat == own
        return seat in (None, own) and (is_guilty if result == "forfeit" else own_result == result)

    ids = _chosen(lambda match: agent in match.agent_ids and fits(match))
    assert _ids(MatchQuery(agents=(agent,), result=result, seat=seat)) == ids


def test_results_are_counted_as_ratings_count_them(played: Tournament) -> None:
    rater.rate(played.leaderboard_id, now=later(1))
    for rating in played.leaderboard.rating_set.all():
        counted = [rating.n_wins, rating.n_draws, rating.n_losses, rating.n_forfeits]
        query = MatchQuery(agents=(rating.agent_id,), leaderboard=played.leaderboard_id)
        listed = [len(_ids(replace(query, result=one))) for one in RESULTS]
        assert listed == counted


def test_two_agents_are_those_who_met(played: Tournament) -> None:
    first, second = played.agents.order_by("pk").values_list("pk", flat=True)[:2]
    met = _chosen(lambda match: {first, second} == set(match.agent_ids))
    assert len(met) == 4
    assert (
        _ids(MatchQuery(agents=(first, second)))
        == met
        == find_pair_matches(second, first, limit=LIMIT)
    )


def test_a_pair_that_met_seldom_is_searched_for_page_by_page(
    played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(match_sources, "N_SCANNED", 5)
    first, second = played.agents.order_by("pk").values_list("pk", flat=True)[:2]
    query, ids, before, n_pages = MatchQuery(agents=(first, second)), list[int](), None, 0
    while n_pages == 0 or before is not None:
        page = find_matches(query, before=before, limit=LIMIT)
        ids, before, n_pages = ids + [match.pk for match in page.matches], page.before, n_pages + 1
    assert ids == _chosen(lambda match: {first, second} == set(match.agent_ids))
    assert n_pages == 5


def test_what_is_rare_is_searched_for_page_by_page(
    played: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(match_search, "N_LOOKED", 10)
    oldest = Match.objects.earliest("pk")
    Outcome.objects.filter(pk=oldest.pk).update(reason="crash")
    page = find_matches(MatchQuery(reason="crash"), limit=LIMIT)
    assert (list(page.matches), page.n_looked) == ([], 10)
    for _ in range(8):
        page = find_matches(MatchQuery(reason="crash"), before=page.before, limit=LIMIT)
    assert [match.pk for match in page.matches] == [oldest.pk]
    assert page.before is None


def test_every_state_is_found_with_and_without_its_tournament(broker: Redis) -> None:
    tournament = factories.planned(30, board="first")
    boards.play_some(tournament, 6, factories.first_wins)
    order = factories.ordered(tournament, 6)
    factories.start(factories.ordered(tournament, 6))
    stuck = Match.objects.filter(state="pending").earliest("pk")
    voiding.void_matches([stuck.pk], actor=Actor("ada"), reason="a stuck clock", now=NOW)
    other = factories.planned(12, board="second")
    cancel_tournament(other, now=NOW)
    assert order.matches
    states = dict(Match.objects.order_by().values_list("pk", "state"))
    for state in (*Match.State.values, OPEN):
        meant = Match.OPEN if state == OPEN else (state,)
        expected = [pk for pk in sorted(states, reverse=True) if states[pk] in meant]
        assert _ids(MatchQuery(state=state)) == expected, state
        assert expected, state
        own = set(Match.objects.filter(tournament=tournament).values_list("pk", flat=True))
        within = [pk for pk in expected if pk in own]
        assert _ids(MatchQuery(state=state, tournament=tournament.pk)) == within
        assert _ids(MatchQuery(state=state, leaderboard=tournament.leaderboard_id)) == within


def test_a_game_begins_with_its_newest_match(played: Tournament) -> None:
    factories.planned(20, board="later")
    page = find_matches(MatchQuery(game="connect_four"), limit=10)
    assert [match.pk for match in page.matches] == _chosen(lambda m: m.tournament == played)[:10]
    assert _ids(MatchQuery(game="othello")) == []


def test_reasons_are_of_forfeits_and_of_void_matches(played: Tournament) -> None:
    assert _ids(MatchQuery(reason="illegal")) == _chosen(lambda m: m.outcome.is_forfeit)
    void = Match.objects.latest("pk")
    Match.objects.filter(pk=void.pk).update(state="void", void_reason="expired")
    assert _ids(MatchQuery(reason="expired")) == [void.pk]
    assert _ids(MatchQuery(reason="expired", state="void")) == [void.pk]


@pytest.mark.parametrize(
    "more", [{"state": "done"}, {"counted": "yes"}, {"result": "won"}, {"result": "lost"}]
)
def test_what_is_over_is_found_behind_any_number_of_open_matches(
    played: Tournament, monkeypatch: pytest.MonkeyPatch, more: dict[str, str]
) -> None:
    rater.rate(played.leaderboard_id, now=later(1))
    agents = list(played.agents.order_by("pk"))
    loser_and_winner = (agents[0].pk, agents[1].pk)
    # Those of an exhibition are over and lie above, too, but no rating counts them.
    board = played.leaderboard
    plans = [
        TournamentPlan(name="shown", n_matches=6, is_rated=False),
        TournamentPlan(name="waiting", n_matches=420, seed=9),
    ]
    for plan in plans:
        later_one = schedule_tournament(plan, leaderboard=board, agents=agents)
        planning.plan_tournament(later_one, now=NOW)
        if not plan.is_rated:
            boards.play_some(later_one, 6, factories.first_wins)
    assert Match.objects.filter(state="pending").count() == 420
    monkeypatch.setattr(match_search, "N_LOOKED", 40)
    for filters in (
        {},
        {"game": "connect_four"},
        {"leaderboard": played.leaderboard_id},
        {"tournament": played.pk},
        {"agents": (agents[0].pk,)},
        {"agents": (agents[0].pk,), "leaderboard": played.leaderboard_id},
        {"agents": loser_and_winner[:: -1 if more.get("result") == "won" else 1]},
    ):
        query = MatchQuery(**filters, **more)  # type: ignore[arg-type]
        page = find_matches(query, limit=10)
        assert page.matches, filters
        assert {match.state for match in page.matches} == {"done"}
        if query.counted:
            assert {match.tournament_id for match in page.matches} == {played.pk}


def test_no_earlier_page_is_offered_where_nothing_is_over(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = factories.planned(60)
    monkeypatch.setattr(match_search, "N_LOOKED", 20)
    agent = tournament.agents.earliest("pk").pk
    for filters in ({}, {"agents": (agent,)}, {"leaderboard": tournament.leaderboard_id}):
        page = find_matches(MatchQuery(**filters, counted="yes"), limit=10)
        assert (list(page.matches), page.before) == ([], None)
    assert find_matches(MatchQuery(state="open", result="won"), limit=10).before is None


def test_forfeits_of_all_and_of_a_tournament(played: Tournament) -> None:
    forfeits = _chosen(lambda match: match.outcome.is_forfeit)
    assert forfeits
    assert _ids(MatchQuery(result="forfeit")) == forfeits
    assert _ids(MatchQuery(result="forfeit", tournament=played.pk)) == forfeits
    assert _ids(MatchQuery(result="forfeit", game="chess")) == []


def _failing_first(row: MatchOrderRow) -> ResultRow:
    if row.match % 3 or row.attempt > 1:
        return factories.first_wins(row)
    return factories.result(row, ending=Ending.FAILED, reason=Reason.ERROR)


def test_attempts_that_failed_lead_to_their_matches(broker: Redis) -> None:
    tournament = factories.planned(12)
    factories.play_all(broker, _failing_first)
    expected = _chosen(lambda match: match.pk % 3 == 0)
    for query in (
        MatchQuery(ending="failed"),
        MatchQuery(ending="failed", reason="error", tournament=tournament.pk),
        MatchQuery(ending="failed", node=factories.NODE),
    ):
        assert _ids(query) == expected, query
    assert _ids(MatchQuery(ending="failed", reason="crash")) == []
    assert _ids(MatchQuery(ending="failed", node="another")) == []


def test_days_are_those_on_which_it_was_played(broker: Redis) -> None:
    tournament = boards.planned_board(n_matches=84)
    for day in range(4):
        boards.play_some(tournament, 21, boards.by_strength(), now=NOW + timedelta(days=day))
    today = NOW.date()
    for first, last, days in (
        (None, None, range(4)),
        (1, None, (1, 2, 3)),
        (None, 1, (0, 1)),
        (1, 2, (1, 2)),
        (2, 2, (2,)),
        (7, None, ()),
        (None, -1, ()),
    ):
        first_day = None if first is None else today + timedelta(days=first)
        last_day = None if last is None else today + timedelta(days=last)
        played = [NOW + timedelta(days=day) for day in days]
        expected = set(_chosen(lambda match, at=played: match.outcome.recorded_at in at))  # type: ignore[misc]
        for more in ({}, {"tournament": tournament.pk}, {"node": factories.NODE}):
            query = MatchQuery(first_day=first_day, last_day=last_day, **more)
            assert set(_ids(query)) == expected, query


def test_the_first_attempt_of_a_moment_is_found_by_halves(broker: Redis) -> None:
    assert match_sources.find_attempt(NOW) == 1
    tournament = boards.planned_board(n_matches=84)
    for n in range(4):
        boards.play_some(tournament, 21, boards.by_strength(), now=later(10 * n))
    Attempt.objects.filter(pk__in=Attempt.objects.values("pk")[30:40]).delete()
    for seconds in (-1, 0, 1, 10, 25, 30, 31):
        moment = later(seconds)
        first = Attempt.objects.filter(ended_at__gte=moment).order_by("pk").first()
        newest = Attempt.objects.latest("pk").pk
        attempt_pk = match_sources.find_attempt(moment)
        after = Attempt.objects.filter(pk__gte=attempt_pk).order_by("pk").first()
        assert after == first
        assert attempt_pk <= (first.pk if first else newest + 1)


def test_an_agent_in_both_seats_has_its_match_once(broker: Redis) -> None:
    first = Agent.objects.create(name="one", game="skill_game", policy="random")
    factories.planned(6, agents=[first, "level:10"], is_rated=False)
    match = Match.objects.latest("pk")
    match.seat_rows.update(agent=first)
    Match.objects.filter(pk=match.pk).update(lineup=f"{first.pk},{first.pk}")
    ids = _ids(MatchQuery(agents=(first.pk,), seat=0))
    assert ids.count(match.pk) == 1


def test_no_filter_reads_more_with_more_matches(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("counts the steps of SQLite")
    # What a page reads at most is reached by the smaller tournament, too.
    monkeypatch.setattr(match_search, "N_LOOKED", 200)
    monkeypatch.setattr(match_sources, "N_SCANNED", 200)
    monkeypatch.setattr(match_search, "MAX_LOOKS", 1)
    few, many = (_steps_on(n) for n in (600, 4_000))
    grown = {name: (few[name], many[name]) for name in few if many[name] > 1.3 * few[name] + 20}
    assert grown == {}


def _steps_on(n_matches: int) -> dict[str, int]:
    """Return the steps of SQLite for every filter, with so many matches."""
    tournament = factories.planned(n_matches, board=f"b{n_matches}", seed=n_matches)
    matches = Match.objects.filter(tournament=tournament)
    matches.update(state=Match.State.DONE, attempt=1)
    Outcome.objects.bulk_create(
        Outcome(match=match, ranks="0,1", attempt=1, recorded_at=NOW) for match in matches
    )
    Attempt.objects.bulk_create(
        Attempt(match=m, number=1, ending="done", node="n", ended_at=NOW) for m in matches
    )
    first, second = tournament.agents.order_by("pk").values_list("pk", flat=True)[:2]
    own: dict[str, Any] = {"tournament": tournament.pk}
    board: dict[str, Any] = {"leaderboard": tournament.leaderboard_id}
    queries: dict[str, dict[str, Any]] = {
        "all": {},
        "agent": {"agents": (first,)},
        "draws of an agent": {"agents": (first,), "result": "drawn"},
        "pair": {"agents": (first, second)},
        "tournament": own,
        "open of a tournament": {**own, "state": "open"},
        "crashes of a tournament": {**own, "reason": "crash"},
        "failed of a tournament": {**own, "ending": "failed"},
        "void of a tournament": {**own, "state": "void"},
        "agent in a tournament": {**own, "agents": (first,)},
        "board": board,
        "void of a board": {**board, "state": "void"},
        "void": {"state": "void"},
        "running": {"state": "running"},
        "pending": {"state": "pending"},
        "forfeits": {"result": "forfeit"},
        "another game": {"game": "chess"},
        "day": {"last_day": NOW.date()},
        "node": {"node": "elsewhere"},
    }
    return {name: _steps(MatchQuery(**filters)) for name, filters in queries.items()}


def _steps(query: MatchQuery) -> int:
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    connection.connection.set_progress_handler(count, 100)
    try:
        find_matches(query, limit=50)
    finally:
        connection.connection.set_progress_handler(None, 0)
    return counted


def test_open_matches_before_the_newest_finished_one_are_not_looked_at(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = factories.planned(4, board="nobody")
    query = MatchQuery(leaderboard=nobody.leaderboard_id, result="won")
    assert find_matches(query, limit=50) == MatchPage([], None, None)
    tournament = factories.planned(40)
    boards.play_some(tournament, 6, factories.first_wins)
    monkeypatch.setattr(match_search, "N_LOOKED", 8)
    looks: list[int | None] = []
    look = match_search._look

    def note(query: MatchQuery, source: Source, before: int | None, limit: int) -> MatchPage:
        looks.append(before)
        return look(query, source, before, limit)

    monkeypatch.setattr(match_search, "_look", note)
    page = find_matches(MatchQuery(leaderboard=tournament.leaderboard_id, result="won"), limit=50)
    assert len(page.matches) == 6
    assert looks == [7], "from the newest finished match on"
