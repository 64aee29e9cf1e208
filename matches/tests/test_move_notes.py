"""Times and values of moves: stored with the outcome, and nothing depends on them."""

from base64 import b64encode
from typing import Any

import msgspec
import pytest
from redis import Redis

from arena.messages import MatchOrderRow, ResultRow, Results, read_report, to_wire
from arena.move_notes import note_time, note_value, pack_notes, unpack_notes
from matches.ledger import planning
from matches.ledger.tournaments import schedule_tournament
from matches.models import Match, Outcome, Tournament
from matches.plans import TournamentPlan
from matches.tests import boards, factories
from matches.tests.factories import later

pytestmark = pytest.mark.django_db(transaction=True)

PACKED = pack_notes([note_time(1.0), note_time(2.5) + note_value(-0.5)])


@pytest.fixture(autouse=True)
def _broker(broker: Redis) -> None:
    del broker


def noted(row: MatchOrderRow, notes: str = b64encode(PACKED).decode()) -> ResultRow:
    return msgspec.structs.replace(factories.first_wins(row), notes=notes)


def test_they_are_stored_with_the_outcome() -> None:
    tournament = factories.planned(4)
    boards.play_some(tournament, 4, noted)
    for outcome in Outcome.objects.all():
        first, second = unpack_notes(bytes(outcome.notes or b""), 2)
        assert first.took_s == pytest.approx(1.0, rel=0.05)
        assert second.took_s == pytest.approx(2.5, rel=0.05)
        assert (first.value, second.value) == (None, -0.5)


@pytest.mark.parametrize(
    "notes", ["", "no base64!", "QQ==", b64encode(bytes(7)).decode(), "A" * 200_000, "\0", "é"]
)
def test_what_cannot_be_notes_of_its_moves_is_dropped_and_the_result_counts(notes: str) -> None:
    tournament = factories.planned(2)
    boards.play_some(tournament, 2, lambda row: noted(row, notes))
    assert set(Outcome.objects.values_list("notes", flat=True)) == {None}
    assert Outcome.objects.count() == 2


def test_a_report_of_an_older_node_is_read_and_more_than_a_match_can_have_is_refused() -> None:
    tournament = factories.planned(2)
    factories.alive()
    order = factories.ordered(tournament, 2)
    wire: dict[str, Any] = to_wire(factories.finished(order, noted))
    for row in wire["results"]:
        # What came later: what was thrown away, who served the game, the returns.
        assert [row.pop(), row.pop(), row.pop()] == [0.0, "", []]
        assert row.pop() == b64encode(PACKED).decode()
    report = read_report(wire)
    assert isinstance(report, Results)
    assert {row.notes for row in report.results} == {""}
    wire["results"][0].append("A" * 200_001)
    with pytest.raises(Exception, match="200000"):
        read_report(wire)


def again(first: Tournament, **plan: Any) -> Tournament:
    second = schedule_tournament(
        TournamentPlan(name="again", n_matches=first.n_matches, seed=first.seed, **plan),
        leaderboard=first.leaderboard,
        agents=list(first.agents.order_by("entrant__position")),
    )
    planning.plan_tournament(second, now=later(10))
    return second


def test_a_game_that_is_not_played_again_took_no_time() -> None:
    first = factories.planned(4)
    boards.play_some(first, 4, noted)
    second = again(first)
    copies = Match.objects.filter(tournament=second).select_related("outcome", "same_as__outcome")
    assert {copy.outcome.notes for copy in copies} == {None}
    firsts = [copy.same_as for copy in copies if copy.same_as]
    assert len(firsts) == 4
    assert {bytes(first.outcome.notes or b"") for first in firsts} == {PACKED}


def test_other_times_are_no_other_outcome() -> None:
    first = factories.planned(4)
    boards.play_some(first, 4, noted)
    second = again(first, replays=True)
    slow = b64encode(pack_notes([note_time(100.0)] * 2)).decode()
    boards.play_some(second, 4, lambda row: noted(row, slow), now=later(20))
    second.refresh_from_db()
    assert second.n_differing == 0
    played = Match.objects.filter(tournament=second).select_related("outcome")
    assert len(played) == 4
    assert not any(match.is_differing for match in played)
