"""What was won in a tournament: counted behind the results, in planned order, each match once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from redis import Redis

from matches import control
from matches.ledger import voiding
from matches.models import EntrantCount, Match, MeetingCount, Tournament, TournamentCount
from matches.operations.system import minutes
from matches.ratings import tournament_counts
from matches.store.auditing import Actor
from matches.tests import boards
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _count_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count also what a page would add by itself."""
    monkeypatch.setattr(tournament_counts, "N_LEFT", 1)


def _running(n_ended: int, n_matches: int = 42) -> Tournament:
    tournament = boards.planned_board(n_matches=n_matches)
    if n_ended:
        boards.play_some(tournament, n_ended, boards.by_strength(forfeits=0))
    tournament.refresh_from_db()
    return tournament


def _sum_up(tournament: Tournament) -> tuple[int, list[tuple[int, ...]]]:
    counts = tournament_counts.read_counts(tournament)
    return counts.n_matches, sorted((agent, *won) for agent, won in counts.agents.items())


def test_what_is_counted_ahead_is_what_a_page_would_add() -> None:
    tournament = _running(30)
    before = _sum_up(tournament)
    agents = [agent for agent, *_ in before[1]]
    rest = tournament_counts.read_counts(tournament).tail
    met = tournament_counts.read_meetings(tournament, agents, rest)
    assert tournament_counts.count_active(now=NOW) == 30
    assert TournamentCount.objects.get().n_matches == 30
    assert _sum_up(tournament) == before
    rest = tournament_counts.read_counts(tournament).tail
    assert not rest.pairs, "nothing is left for the page"
    assert tournament_counts.read_meetings(tournament, agents, rest) == met
    assert sum(sum(counts) for counts in met.values()) == 30
    assert tournament_counts.count_active(now=NOW) == 0, "nothing twice"


def test_only_what_lies_before_the_first_open_match_is_counted_ahead() -> None:
    tournament = _running(12)
    second = Match.objects.filter(tournament=tournament).order_by("sequence")[1]
    Match.objects.filter(pk=second.pk).update(state=Match.State.RUNNING)
    assert tournament_counts.count_active(now=NOW) == 1
    assert _sum_up(tournament)[0] == 11
    Match.objects.filter(pk=second.pk).update(state=Match.State.DONE)
    assert tournament_counts.count_active(now=NOW) == 11
    assert _sum_up(tournament)[0] == 12


def test_two_controls_at_once_count_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tournament = _running(12)
    read = TournamentCount.objects.get_or_create

    def read_before_another(**keys: Any) -> object:
        stale = read(**keys)
        monkeypatch.undo()
        assert tournament_counts._count_more(tournament) == 12
        return stale

    monkeypatch.setattr(TournamentCount.objects, "get_or_create", read_before_another)
    assert tournament_counts._count_more(tournament) == 0
    assert sum(row.n_wins + row.n_draws + row.n_losses for row in EntrantCount.objects.all()) == 24


def test_a_match_that_is_struck_counts_no_more(broker: Redis) -> None:
    tournament = _running(42)
    tournament_counts.count_missing()
    struck = Match.objects.filter(tournament=tournament).order_by("sequence")[3]
    voiding.void_matches([struck.pk], actor=Actor("ann"), reason="a broken node", now=later(9))
    assert not MeetingCount.objects.exists()
    tournament.refresh_from_db()
    n_matches, rows = _sum_up(tournament)
    assert n_matches == 41
    assert tournament_counts.count_missing() == 41
    assert _sum_up(tournament) == (41, rows)


def test_what_was_read_before_a_match_was_struck_is_not_added_after_it(broker: Redis) -> None:
    read_before = _running(42)
    struck = Match.objects.filter(tournament=read_before).order_by("sequence")[3]
    voiding.void_matches([struck.pk], actor=Actor("ann"), reason="a broken node", now=later(9))
    assert tournament_counts._count_more(read_before) == 0
    assert not MeetingCount.objects.exists()
    assert tournament_counts.count_missing() == 41


@pytest.mark.django_db(transaction=True)
def test_the_recorder_may_write_while_results_are_added_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _running(30)
    # So that the first open match is met with rows left to read.
    monkeypatch.setattr(tournament_counts, "ROWS_AT_ONCE", 5)
    Match.objects.filter(sequence__gt=20).update(state=Match.State.RUNNING)
    tally = tournament_counts._tally_rows

    def tally_beside_a_writer(*of: Any) -> object:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(write_and_leave).result(30)
        return tally(*of)

    def write_and_leave() -> None:
        Tournament.objects.update(n_forfeits=1)
        connection.close()

    monkeypatch.setattr(tournament_counts, "_tally_rows", tally_beside_a_writer)
    assert tournament_counts.count_active(now=NOW) == 20


def test_one_that_was_struck_just_while_it_was_counted_is_mended() -> None:
    _running(42)
    tournament_counts.count_missing()
    TournamentCount.objects.update(n_matches=43)
    tournament_counts.count_missing()
    assert not TournamentCount.objects.exists()
    assert tournament_counts.count_missing() == 42


def test_a_page_adds_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournament_counts, "MOST_READ", 10)
    tournament = _running(12)
    counts = tournament_counts.read_counts(tournament)
    assert (counts.n_matches, counts.is_whole) == (10, False)
    tournament_counts.count_missing()
    counts = tournament_counts.read_counts(tournament)
    assert (counts.n_matches, counts.is_whole) == (12, True)


def test_control_counts_what_runs_every_second_and_the_rest_every_minute(broker: Redis) -> None:
    assert tournament_counts.count_active in control._DUTIES
    ended = _running(42)
    assert ended.state == Tournament.State.DONE
    assert tournament_counts.count_active(now=NOW) == 0
    minutes.keep_minute(now=later(90))
    assert TournamentCount.objects.get().n_matches == 42


def test_no_pass_reads_more_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tournament_counts, "CHUNK", 10)
    tournament = _running(30)
    assert [tournament_counts.count_active(now=NOW) for _ in range(4)] == [10, 10, 10, 0]
    assert _sum_up(tournament)[0] == 30
