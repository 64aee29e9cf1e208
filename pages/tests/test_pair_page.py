"""The page of two agents."""

import re
from operator import itemgetter

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from matches.api.ratings import ComparisonSerializer
from matches.campaigns.starting import start_campaign
from matches.ledger import planning
from matches.ledger.tournaments import open_leaderboard, schedule_tournament
from matches.models import Agent, Leaderboard, Match, PairCount, Rating, Tournament
from matches.plans import CampaignPlan, TournamentPlan
from matches.ratings import rater
from matches.ratings.comparisons import compare_agents
from matches.store.formats import format_percent
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from pages import pair_numbers, pair_page
from pages.tests.reading import read_page

pytestmark = pytest.mark.django_db


def _pair() -> list[Agent]:
    return [Agent.objects.get(name=name) for name in ("mcts:100", "random")]


def _address(*agents: Agent) -> str:
    return f"/compare/{agents[0].pk}/{agents[1].pk}/"


def _second_board(first: Tournament, *, n_matches: int = 42, name: str = "second") -> Leaderboard:
    board = open_leaderboard(name, game="connect_four")
    more = schedule_tournament(
        TournamentPlan(name=f"on {name}", n_matches=n_matches, seed=7),
        leaderboard=board,
        agents=list(first.agents.all()),
    )
    planning.plan_tournament(more, now=NOW)
    boards.play_some(more, n_matches, boards.by_strength())
    rater.rate(board.pk, now=later(2))
    return board


def test_it_says_what_the_api_says(client: Client, broker: Redis) -> None:
    tournament = boards.played_board()
    one, other = _pair()
    ratings = [Rating.objects.select_related("leaderboard").get(agent=a) for a in (one, other)]
    comparison = ComparisonSerializer(compare_agents(*ratings)).data
    page = read_page(client, _address(one, other))
    better, p_better = max(
        (one, comparison["p_above"]), (other, 1 - comparison["p_above"]), key=itemgetter(1)
    )
    verdict = (
        f"<b>{better}</b> is the better one with a probability of"
        f" <b>{format_percent(p_better, is_estimate=True)}</b>"
    )
    assert verdict in page
    assert verdict in read_page(client, _address(other, one))
    count = comparison["head_to_head"]
    record = f"{count['n_wins']} / {count['n_draws']} / {count['n_losses']}"
    texts = " ".join(re.sub(r"<[^>]+>", "", page).split())
    assert len(re.findall(record, texts)) >= 2
    assert f"?leaderboard={tournament.leaderboard.name}&agent={one.pk}&agent={other.pk}" in page


def test_of_two_that_are_even_neither_is_the_better_one(client: Client, broker: Redis) -> None:
    tournament = factories.planned(8, agents=["level:10", "level:90"])
    boards.play_some(tournament, 8, factories.first_wins)  # each as often as the other
    rater.rate(tournament.leaderboard_id, now=later(1))
    page = read_page(client, _address(*tournament.agents.order_by("pk")))
    text = " ".join(re.sub(r"<[^>]+>", "", page).split())
    assert "Neither can be told to be the better one: it is 50 % either way" in text
    assert "is the better one" not in text


def test_elo_is_the_same_from_both_sides_and_its_interval_holds_it(broker: Redis) -> None:
    board = boards.played_board().leaderboard
    rows = {r.agent.name: r for r in board.rating_set.select_related("agent", "leaderboard")}
    there = pair_numbers.compute_elo(compare_agents(rows["mcts:20"], rows["greedy"]), board)
    back = pair_numbers.compute_elo(compare_agents(rows["greedy"], rows["mcts:20"]), board)
    assert there.elo == pytest.approx(-back.elo)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    assert there.low < there.elo < there.high


def test_a_gap_beyond_all_scores_has_a_number(broker: Redis) -> None:
    board = boards.played_board().leaderboard
    assert pair_numbers._elo_of_gap(board, 500) == pytest.approx(1_600, abs=1)
    assert pair_numbers._elo_of_gap(board, -500) == pytest.approx(-1_600, abs=1)


def test_seats_tournaments_and_openings_hold_the_same_games(broker: Redis) -> None:
    tournament = boards.played_board()
    one, other = _pair()
    played = pair_numbers.read_games(one.pk, other.pk)
    assert len(played) == 20
    whole = pair_numbers.sum_records(played)
    for rows in (
        pair_numbers.group_by_seat(tournament.leaderboard, one.pk, other.pk),
        pair_numbers.group_by_tournament(played),
        pair_numbers.group_by_opening(played, tournament.leaderboard),
    ):
        sums = [sum(part) for part in zip(*(row.record for row in rows), strict=True)]
        assert sums == list(whole)
    seats = pair_numbers.group_by_seat(tournament.leaderboard, one.pk, other.pk)
    assert [(row.label, row.record.n) for row in seats] == [("sits first", 10), ("sits second", 10)]


def test_openings_are_named_by_their_moves(client: Client, broker: Redis) -> None:
    board = boards.played_board().leaderboard
    one, other = _pair()
    (first, *_) = pair_numbers.group_by_opening(pair_numbers.read_games(one.pk, other.pk), board)
    assert first.label.count(", ") == 3
    assert first.label.count("column") == 1
    assert first.label in read_page(client, _address(one, other))


def test_its_games_come_newest_first_in_pages(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_page, "GAMES_A_PAGE", 12)
    boards.played_board()
    one, other = _pair()
    first = read_page(client, _address(one, other))
    (before,) = re.findall(r'href="\?before=(\d+)#games"', first)
    rest = read_page(client, f"{_address(one, other)}?before={before}")
    links = [re.findall(r'scope="row"><a href="/matches/(\d+)/"', page) for page in (first, rest)]
    met = [m.pk for m in Match.objects.order_by("-pk") if {one.pk, other.pk} == set(m.agent_ids)]
    assert [len(some) for some in links] == [12, 8]
    assert list(map(int, links[0] + links[1])) == met


def test_what_was_played_comes_before_what_is_planned(client: Client, broker: Redis) -> None:
    first = boards.played_board(n_matches=84)
    one, other = _pair()
    more = schedule_tournament(
        TournamentPlan(name="more", n_matches=210, seed=5),
        leaderboard=first.leaderboard,
        agents=list(first.agents.all()),
    )
    planning.plan_tournament(more, now=NOW)
    page = read_page(client, _address(one, other))
    met = [m for m in Match.objects.order_by("-pk") if {one.pk, other.pk} == set(m.agent_ids)]
    links = re.findall(r'scope="row"><a href="/matches/(\d+)/"', page)
    assert list(map(int, links)) == [m.pk for m in met if m.state == Match.State.DONE]
    address, link_text = re.findall(r'<a href="(/matches/[^"]+state=open)">([^<]+)</a>', page)[0]
    n_open = sum(m.state == Match.State.PENDING for m in met)
    assert link_text == str(n_open) == str(read_page(client, address).count('class="cup"'))
    first.leaderboard.tournaments.update(state=Tournament.State.CANCELLED)
    assert "state=open" not in read_page(client, _address(one, other))


def test_where_they_meet_on_several_boards_one_is_chosen(client: Client, broker: Redis) -> None:
    first = boards.played_board()
    _second_board(first)
    one, other = _pair()
    page = read_page(client, _address(one, other))
    assert '?leaderboard=connect-four" aria-current="true"' in page
    chosen = read_page(client, f"{_address(one, other)}?leaderboard=second")
    assert '?leaderboard=second" aria-current="true"' in chosen
    assert "on second" in page
    words = "both on a leaderboard 'third'"
    assert words in read_page(client, f"{_address(one, other)}?leaderboard=third", status=404)


def test_a_standing_board_is_found_among_many_single_evaluations(
    client: Client, broker: Redis
) -> None:
    board = boards.played_board().leaderboard
    one, other = _pair()
    for number in range(pair_page.MAX_BOARDS + 1):
        single = open_leaderboard(f"single-{number}", game="connect_four", is_listed=False)
        for agent in (one, other):
            Rating.objects.create(leaderboard=single, agent=agent)
    for address in (_address(one, other), f"/compare/?agents={one.pk},{other.pk}"):
        assert f'leaderboard={board.name}" aria-current' in read_page(client, address)
    # Of another one that is not among the newest the address tells.
    Leaderboard.objects.filter(pk=board.pk).update(is_listed=False)
    read_page(client, f"{_address(one, other)}?leaderboard={board.name}")
    read_page(client, f"/compare/?agents={one.pk},{other.pk}&leaderboard={board.name}")


def test_two_of_no_common_board_are_told_so(client: Client, broker: Redis) -> None:
    boards.played_board()
    one, _ = _pair()
    third = Agent.objects.create(name="alone", game="connect_four", policy="random")
    page = read_page(client, _address(one, third))
    assert "No leaderboard rates both of them" in page
    assert "They have played no match together yet" in page


def test_campaigns_of_the_two_come_before_those_of_more(client: Client, broker: Redis) -> None:
    board = boards.played_board().leaderboard
    one, other = _pair()
    for name, agents in (("of two", [one, other]), ("of all", list(Agent.objects.all()))):
        plan = CampaignPlan(name=name, question="best", max_matches=100)
        start_campaign(plan, leaderboard=board, agents=agents)
    page = read_page(client, _address(one, other))
    assert page.index(">of two</p>") < page.index(">of all</p>")


def test_two_who_never_met_are_compared_by_others(client: Client, broker: Redis) -> None:
    boards.played_board()
    one, other = _pair()
    PairCount.objects.filter(first__in=(one, other), second__in=(one, other)).delete()
    page = read_page(client, _address(one, other))
    assert "The two have not met there yet" in page
    assert "Elo difference" in page


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/compare/{one}/{one}/", "cannot be compared with itself"),
        ("/compare/{one}/99999/", "there is no agent 99999"),
        ("/compare/{one}/{stranger}/", "only agents of one game can be compared"),
        ("/compare/{one}/99999999999999999999/", "there is no agent"),
        ("/compare/{one}/{other}/?before=x", "before must be a number"),
    ],
)
def test_what_cannot_meet_is_refused_with_a_sentence(
    client: Client, broker: Redis, address: str, words: str
) -> None:
    boards.played_board()
    one, other = _pair()
    stranger = Agent.objects.create(name="stranger", game="chess", policy="random")
    path = address.format(one=one.pk, other=other.pk, stranger=stranger.pk)
    assert words in read_page(client, path, status=404)


def test_visitors_get_a_command_and_operators_a_form(client: Client, broker: Redis) -> None:
    board = boards.played_board().leaderboard
    one, other = _pair()
    page = read_page(client, _address(one, other))
    assert "./run campaign mcts:100 random -l connect-four --max-matches 200" in page
    client.force_login(User.objects.create_superuser("ada"))
    page = read_page(client, _address(one, other))
    assert "./run campaign" not in page
    form = f"/admin/matches/campaign/add/?leaderboard={board.pk}&agents={one.pk},{other.pk}"
    filled = read_page(client, f"{form}&max_matches=200&question=best")
    chosen = re.findall(r'name="agents" value="(\d+)" checked', filled)
    assert set(map(int, chosen)) == {one.pk, other.pk}
    assert re.search(rf'<option value="{board.pk}"\s+selected', filled)
    assert 'value="200"' in filled


@pytest.mark.parametrize("right", ["", "add_tournament"])
def test_who_has_logged_in_and_may_not_play_is_told_what_it_takes(
    client: Client, broker: Redis, right: str
) -> None:
    """The form is for staff: with the right alone it would lead to a page that refuses."""
    boards.played_board()
    user = User.objects.create_user("eve")
    user.user_permissions.set(Permission.objects.filter(codename=right))
    client.force_login(user)
    page = read_page(client, _address(*_pair()))
    assert "eve may not start it from here: that takes staff status and the right" in page
    assert "log in</a>" not in page
    assert "Show forecast" not in page


def test_a_retired_agent_plays_no_more(client: Client, broker: Redis) -> None:
    boards.played_board()
    one, other = _pair()
    Agent.objects.filter(pk=other.pk).update(is_retired=True)
    assert "random is retired" in read_page(client, _address(one, other))


def test_a_board_whose_game_is_gone_still_lists_games(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    boards.played_board()
    monkeypatch.setattr(pair_page, "game_problem", lambda game: "its file is gone")
    page = read_page(client, _address(*_pair()))
    assert "its game is not installed here" in page
    assert "Their games" in page


def test_queries_do_not_grow_with_games(client: Client, broker: Redis) -> None:
    first = boards.played_board(n_matches=84)
    one, other = _pair()
    with CaptureQueriesContext(connection) as few:
        read_page(client, _address(one, other))
    more = schedule_tournament(
        TournamentPlan(name="more", n_matches=840, seed=5),
        leaderboard=first.leaderboard,
        agents=list(first.agents.all()),
    )
    planning.plan_tournament(more, now=NOW)
    boards.play_some(more, 840, boards.by_strength())
    rater.rate(first.leaderboard_id, now=later(9))
    with CaptureQueriesContext(connection) as many:
        read_page(client, _address(one, other))
    assert len(many) == len(few) <= 32
