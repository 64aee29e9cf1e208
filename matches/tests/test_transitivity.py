"""Whether one number misleads on a leaderboard."""

import re

import pytest
from django.core.cache import cache
from django.test import Client
from redis import Redis

from arena.messages import MatchOrderRow, ResultRow
from matches.models import Agent, Leaderboard, Match, Tournament
from matches.ratings import rater, transitivity
from matches.tests import boards, factories
from matches.tests.factories import later

pytestmark = pytest.mark.django_db(transaction=True)

CIRCLE = ("level:10", "level:50", "level:90")


@pytest.fixture(autouse=True)
def _stores(broker: Redis) -> None:
    """Have a broker, and a fast store that knows nothing."""
    cache.clear()


def in_a_circle(row: MatchOrderRow) -> ResultRow:
    """Return the result in which each agent beats the next one, the last the first."""
    names = {agent.pk: agent.name for agent in Agent.objects.all()}
    first, second = (CIRCLE.index(names[pk]) for pk in Match.objects.get(pk=row.match).agent_ids)
    return factories.result(row, ranks=[0, 1] if (second - first) % 3 == 1 else [1, 0])


def _played(play: boards.Play, n_matches: int = 120) -> Leaderboard:
    tournament = factories.planned(n_matches, agents=CIRCLE)
    boards.play_some(tournament, n_matches, play)
    rater.rate(tournament.leaderboard_id, now=later(1))
    return Tournament.objects.get(pk=tournament.pk).leaderboard


def test_a_circle_is_found_and_named(client: Client) -> None:
    board = _played(in_a_circle)
    examination = transitivity.examine_board(board)
    assert examination is not None
    assert examination.warning is not None
    circle = "level:10 beats level:50 beats level:90 beats level:10"
    assert examination.warning == f"No single order fits: {circle}."
    assert [agent.name for agent in examination.cycles[0].agents] == list(CIRCLE)
    assert examination.cycles[0].p_value < 0.05
    assert [row.weight for row in examination.nash] == pytest.approx([1 / 3] * 3, abs=0.01)
    page = client.get(f"/leaderboards/{board.name}/").content.decode()
    assert examination.warning in page
    assert "level:10 beats level:50 (100%)" in page


def test_an_order_misleads_nobody(client: Client) -> None:
    board = _played(boards.by_strength(forfeits=0))
    examination = transitivity.examine_board(board)
    assert examination is not None
    assert (examination.warning, examination.cycles) == (None, ())
    assert examination.nash[0].weight == max(row.weight for row in examination.nash)
    page = client.get(f"/leaderboards/{board.name}/").content.decode()
    assert "The results are what a ranking would bring." in page
    assert re.search(r"sitting first is worth</dt>\s*<dd>[+-]?\d+ ± \d+ Elo<", page)
    Leaderboard.objects.update(fitted_draw_probability=0.42)
    page = client.get(f"/leaderboards/{board.name}/").content.decode()
    assert re.search(r"equals draw</dt>\s*<dd>42%<", page)
    Leaderboard.objects.update(n_counted=99)
    page = client.get(f"/leaderboards/{board.name}/").content.decode()
    assert "sitting first is worth" not in page
    assert "equals draw" not in page


def test_it_is_looked_at_once_a_minute_however_much_is_played(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    board = _played(in_a_circle)
    first = transitivity.examine_board(board)
    monkeypatch.setattr(transitivity, "_examine_strongest", lambda _: pytest.fail("made once more"))
    board.results_hash = "other"
    cache.add(f"transitivity.{board.pk}.turn", 1)
    assert transitivity.examine_board(board) == first


def test_there_is_nothing_to_say_of_what_was_not_played() -> None:
    assert transitivity.examine_board(factories.planned().leaderboard) is None


def test_two_agents_have_no_cycle() -> None:
    tournament = factories.planned(8, agents=CIRCLE[:2])
    boards.play_some(tournament, 8, boards.by_strength())
    rater.rate(tournament.leaderboard_id, now=later(1))
    assert transitivity.examine_board(Leaderboard.objects.get()) is None
