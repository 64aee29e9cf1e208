"""Tournaments in rounds on their pages: brackets and tables of points."""

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from redis import Redis

from matches.errors import BadInputError
from matches.ledger import pairing_warnings, planning
from matches.models import Match, Tournament
from matches.operations import explain
from matches.ratings import rater
from matches.tests import boards, factories
from matches.tests.factories import later
from pages import brackets, round_tables

pytestmark = pytest.mark.django_db(transaction=True)

FIELD = tuple(f"level:{level}" for level in (5, 25, 45, 65, 85))


@pytest.fixture(autouse=True)
def _stores(broker: Redis) -> None:
    """Have a broker, and a fast store that knows nothing."""
    cache.clear()


def _entered(pairing: str, n_matches: int = 400) -> Tournament:
    return factories.scheduled(n_matches, agents=FIELD, pairing=pairing)


def _go_on(tournament: Tournament, seconds: float, play: boards.Play | None = None) -> bool:
    """Plan and play what is open; say whether there was something."""
    planning.plan_scheduled(now=later(seconds))
    tournament.refresh_from_db()
    if not Match.objects.filter(Match.is_open()).exists():
        return False
    played = play or boards.by_strength(forfeits=0)
    boards.play_some(tournament, 1_000, played, now=later(seconds))
    rater.rate(tournament.leaderboard_id, now=later(seconds + 1))
    tournament.refresh_from_db()
    return True


def _describe_rounds(tournament: Tournament) -> brackets.InRounds:
    cache.clear()
    bracket = brackets.describe_rounds(tournament)
    assert bracket is not None
    return bracket


def test_the_bracket_is_drawn_before_the_first_match() -> None:
    tournament = _entered("knockout")
    planning.plan_scheduled(now=later(0))
    tournament.refresh_from_db()
    bracket = _describe_rounds(tournament)
    assert [round_.title for round_ in bracket.rounds] == ["Quarter-finals", "Semi-finals", "Final"]
    assert [place.is_bye for place in bracket.rounds[0].places].count(True) == 3
    assert bracket.rounds[2].places[0].says == "waits for who comes here"
    assert not bracket.is_decided


def test_the_bracket_ends_with_who_won(client: Client) -> None:
    tournament = _entered("knockout")
    while _go_on(tournament, 0):
        pass
    bracket = _describe_rounds(tournament)
    assert bracket.is_decided
    final = bracket.rounds[-1].places[0]
    assert [side.agent for side in final.sides if side.is_winner] == [bracket.table[0].agent]
    places = [(row.rank, row.reached) for row in bracket.table]
    assert places[:3] == [(1, "won"), (2, "Final"), (3, "Semi-finals")]
    page = client.get(f"/tournaments/{tournament.pk}/").content.decode()
    assert "Won by" in page
    assert page.count('class="slot') == 7


def test_of_a_large_bracket_the_last_rounds_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brackets, "MOST_DRAWN", 4)
    bracket = _describe_rounds(_entered("knockout"))
    assert [round_.title for round_ in bracket.rounds] == ["Semi-finals", "Final"]


def test_swiss_has_a_table_in_which_a_bye_counts_as_a_win(client: Client) -> None:
    tournament = _entered("swiss")
    while _go_on(tournament, 0):
        pass
    table = _describe_rounds(tournament).table
    assert [float(row.points) for row in table] == sorted(
        (float(row.points) for row in table), reverse=True
    )
    assert sum(row.n_byes for row in table) == 3
    assert sum(float(row.points) for row in table) == 2 * (3 * 2 + 3)
    page = client.get(f"/tournaments/{tournament.pk}/").content.decode()
    assert "A match that is won gives one point, a draw one half;" in page
    assert "A round without an opponent (bye) gives two." in page


def test_groups_have_a_table_without_byes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_tables, "MOST_RANKED", 3)
    tournament = _entered("groups", n_matches=64)
    _go_on(tournament, 0)
    group_stage = _describe_rounds(tournament)
    assert (len(group_stage.table), group_stage.n_agents) == (3, 5)
    assert not any(row.n_byes for row in group_stage.table)


def test_other_tournaments_have_no_rounds() -> None:
    assert brackets.describe_rounds(factories.planned()) is None


def test_a_pairing_that_suits_the_field_badly_warns(client: Client) -> None:
    tournament = factories.scheduled(
        400, agents=("level:49", "level:50", "level:51"), pairing="quality"
    )
    assert pairing_warnings.warn_of_pairing(tournament) is None
    _go_on(tournament, 0, factories.first_wins)
    cache.clear()
    page = client.get(f"/tournaments/{tournament.pk}/").content.decode()
    assert "This field is close" in page


def test_a_large_field_is_not_fitted_for_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing_warnings, "MOST_AGENTS", 2)
    assert pairing_warnings.warn_of_pairing(_entered("quality")) is None


@pytest.mark.parametrize(
    ("pairing", "least", "goal"),
    [("knockout", 16, "the final"), ("groups", 24, "the final"), ("swiss", 12, "the last round")],
)
def test_too_few_matches_are_told_before_and_after(pairing: str, least: int, goal: str) -> None:
    parameters = {"rounds": 3, "stages": 1} if pairing == "groups" else {}
    plan: dict[str, Any] = {"pairing": pairing, "pairing_parameters": parameters}
    with pytest.raises(BadInputError, match=f"needs {least} matches at least to reach {goal}"):
        factories.scheduled(least - 2, agents=FIELD, board="refused", **plan)
    few = factories.scheduled(least, agents=FIELD, **plan)
    # As those are that were planned before such plans were refused.
    Tournament.objects.filter(pk=few.pk).update(n_matches=least - 2)
    few.refresh_from_db()
    full = " and 24 where every meeting goes its full length" if pairing == "knockout" else ""
    title = {"knockout": "Knockout", "groups": "Groups and finals", "swiss": "Swiss"}[pairing]
    assert pairing_warnings.warn_of_budget(few) == (
        f"{least - 2} matches end it before {goal}: {title} of 5 agents needs {least} at least"
        f"{full}, so extend it"
    )
    _play_to_its_end(few)
    notes = explain.of_tournament(few, now=later(500)).notes
    assert f"it was stopped by its budget of {least - 2} matches before {goal}: extend it" in notes


def test_as_many_matches_as_a_pairing_needs_are_not_spoken_of() -> None:
    tournament = _entered("swiss", 12)
    assert pairing_warnings.warn_of_budget(tournament) is None
    _play_to_its_end(tournament)
    assert pairing_warnings.warn_of_budget(tournament) is None


def _play_to_its_end(tournament: Tournament) -> None:
    step = 0
    while _go_on(tournament, 10.0 * step):
        step += 1
    assert tournament.state == "done"
