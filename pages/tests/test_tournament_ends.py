"""How lists say that a tournament is over: who won, or what ended it before anybody did."""

import re
from html import unescape
from http import HTTPStatus

import pytest
from django.core.cache import cache
from django.db.models import F
from django.test import Client
from redis import Redis

from matches.ledger import planning, tournaments
from matches.models import Agent, Campaign, Leaderboard, Tournament
from matches.ratings import rater
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from pages import tournament_ends

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _stores(broker: Redis) -> None:
    """Have a broker, and a fast store that knows nothing."""
    cache.clear()


def _text(client: Client, path: str) -> str:
    page = unescape(client.get(path).content.decode())
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def _stop_by_budget() -> Tournament:
    """Return a knockout whose matches ended with its first round."""
    agents = tuple(f"level:{level}" for level in (5, 25, 45, 65, 85))
    cup = factories.scheduled(40, agents=agents, board="cup", pairing="knockout")
    planning.plan_scheduled(now=NOW)
    boards.play_some(cup, 1_000, boards.by_strength(forfeits=0))
    rater.rate(cup.leaderboard_id, now=later(1))
    stopped = Tournament.objects.filter(pk=cup.pk)
    stopped.update(n_matches=F("n_planned"), state=Tournament.State.DONE, finished_at=NOW)
    return cup


def test_one_stopped_by_its_budget_says_so_wherever_it_stands(client: Client) -> None:
    cup = _stop_by_budget()
    for path in (f"/tournaments/{cup.pk}/", "/tournaments/", "/"):
        assert "stopped by its budget" in _text(client, path), path
    assert "no winner" in _text(client, "/tournaments/")


def test_rounds_that_a_verdict_ended_are_not_short_of_anything(client: Client) -> None:
    cup = _stop_by_budget()
    Campaign.objects.create(
        tournament=cup, question="best", max_matches=40, why="decided", decided_at=NOW
    )
    page = _text(client, f"/tournaments/{cup.pk}/")
    assert "Ended before the final, together with its campaign." in page
    for words in ("stopped by its budget", "xtend it"):
        assert words not in page


def test_lists_stand_where_the_file_of_a_game_is_gone(client: Client) -> None:
    _stop_by_budget()
    Leaderboard.objects.update(game="gone")
    for path in ("/tournaments/", "/"):
        assert client.get(path).status_code == HTTPStatus.OK, path


def test_the_list_and_the_home_page_name_who_won(client: Client) -> None:
    league = boards.played_board()
    winner = league.agents.get(name="mcts:100")
    for path in ("/tournaments/", "/"):
        page = client.get(path).content.decode()
        assert f'<a href="/agents/{winner.pk}/">mcts:100</a>' in page, path
        assert "% of the points" in page


def test_a_winner_has_the_name_that_it_has_now(client: Client) -> None:
    winner = boards.played_board().agents.get(name="mcts:100")
    for name in ("mcts:100", "champion"):
        Agent.objects.filter(pk=winner.pk).update(name=name)
        assert f"{name} with" in _text(client, "/tournaments/")


def test_a_cancelled_one_says_what_was_not_played(client: Client) -> None:
    league = factories.planned(12)
    boards.play_some(league, 4, boards.by_strength(forfeits=0))
    tournaments.cancel_tournament(league, now=NOW)
    Tournament.objects.filter(pk=league.pk).update(n_matches=20)
    for path in (f"/tournaments/{league.pk}/", "/tournaments/"):
        assert "4 played, 8 cancelled, 8 never planned" in _text(client, path), path


def test_nobody_has_won_a_cancelled_one_where_many_led(client: Client) -> None:
    league = factories.planned(12)
    boards.play_some(league, 12, lambda row: factories.result(row, ranks=[0, 0]))
    Tournament.objects.update(state=Tournament.State.CANCELLED)
    words = "3 agents led when it was cancelled, with 50.0 % of the points each"
    assert words in _text(client, "/tournaments/")


@pytest.mark.parametrize(
    ("most", "named"), [(1, [1, 2, 2]), (tournament_ends.COST_OF_ONE + 43, [2, 2, 2])]
)
def test_a_list_works_out_few_ends_at_once_and_keeps_them(
    client: Client, monkeypatch: pytest.MonkeyPatch, most: int, named: list[int]
) -> None:
    monkeypatch.setattr(tournament_ends, "MOST_MADE", most)
    for seed in (1, 2):
        one = factories.planned(
            42, agents=boards.SEARCHERS, game="connect_four", board=f"board-{seed}", seed=seed
        )
        boards.play_some(one, 42, boards.by_strength(forfeits=0))
    n_named = [_text(client, "/tournaments/").count("of the points") for _ in range(3)]
    assert n_named == named


@pytest.mark.parametrize("pairing", ["double_round_robin", "swiss"])
def test_a_page_that_was_looked_at_before_the_end_hides_no_winner(
    client: Client, pairing: str
) -> None:
    agents = tuple(f"level:{level}" for level in (5, 45, 85))
    cup = factories.scheduled(12, agents=agents, board="cup", pairing=pairing)
    for _ in range(12):
        planning.plan_scheduled(now=NOW)
        _text(client, f"/tournaments/{cup.pk}/")
        boards.play_some(cup, 1, boards.by_strength(forfeits=0))
        cup.refresh_from_db()
        if cup.finished_at:
            break
    assert cup.state == Tournament.State.DONE
    assert "no winner" not in _text(client, "/tournaments/")
    assert re.search("(Won|shared) by level:", _text(client, "/"))


def test_a_campaign_that_is_judged_names_no_answer_yet(client: Client) -> None:
    league = boards.played_board()
    Campaign.objects.create(tournament=league, question="best", max_matches=420)
    assert "Not decided" not in _text(client, "/tournaments/")
