"""The page of an agent."""

import json
import re
import zlib
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.artifacts.agents import register_spelled_agent
from matches.ledger.tournaments import cancel_tournament
from matches.models import (
    Agent,
    Attempt,
    Checkpoint,
    Match,
    PairCount,
    Rating,
    RatingSnapshot,
    Seat,
)
from matches.ratings.rank_ranges import RankRange, find_rank_ranges
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from pages import agentmatches, agents, lineages, records
from pages.tests.reading import get_page

pytestmark = pytest.mark.django_db


def _agent(name: str = "mcts:100") -> Agent:
    return Agent.objects.get(name=name)


def test_it_shows_what_the_agent_is_and_how_strong(client: Client, broker: Redis) -> None:
    boards.played_board()
    rating = Rating.objects.get(agent=_agent())
    page = get_page(client, f"/agents/{rating.agent_id}/")
    for words in ("simulations", "Connect Four", f"{rating.mu:.2f}", str(rating.n_matches)):
        assert words in page


def test_it_shows_parameters_of_every_name(client: Client) -> None:
    agent = register_spelled_agent("random", game="connect_four")
    Agent.objects.update(parameters={"items": "many", "keys": 3})
    page = get_page(client, f"/agents/{agent.pk}/")
    assert "<dt>items</dt>" in page
    assert "<dd>many</dd>" in page


def test_its_rank_is_that_of_the_board(client: Client, broker: Redis) -> None:
    boards.played_board()
    Rating.objects.filter(agent__name__in=("random", "greedy")).update(mu=20.0)
    # The first prior would stand in the middle: who has not played is last.
    Rating.objects.filter(agent=_agent()).update(n_matches=0)
    ordered = Rating.objects.order_by("-mu", "agent_id").select_related("agent")
    last_unplayed = sorted(ordered, key=lambda rating: rating.n_matches == 0)
    for rank, rating in enumerate(last_unplayed, 1):
        (board_rank,) = agents.rank_on_boards(rating.agent)
        assert board_rank.rank == rank


def test_its_ranks_are_those_that_the_board_shows(client: Client, broker: Redis) -> None:
    board = boards.played_board().leaderboard
    ranges = find_rank_ranges(board.pk, list(board.rating_set.values_list("agent", flat=True)))
    for agent in Agent.objects.all():
        (board_rank,) = agents.rank_on_boards(agent)
        assert RankRange(board_rank.rank, board_rank.best, board_rank.worst) == ranges[agent.pk]
    assert f"<dd>{ranges[_agent().pk]}</dd>" in get_page(client, f"/agents/{_agent().pk}/")


def test_it_opens_with_its_newest_results_though_more_is_planned(
    client: Client, broker: Redis
) -> None:
    played = boards.played_board(n_matches=84)
    last = Match.objects.filter(outcome__isnull=False, seat_rows__agent=_agent()).latest("pk")
    agents_again = list(played.agents.order_by("entrant__position"))
    more = factories.planned(84, agents=agents_again, board="more", game="connect_four", seed=9)
    page = get_page(client, f"/agents/{_agent().pk}/")
    recent, _, rest = page.partition('id="ratings-title"')
    assert f'href="/matches/{last.pk}/"' in recent
    assert re.search(rf'aria-label="\w+: match {last.pk} against ', recent)
    assert not any(f'href="/matches/{pk}/"' in page for (pk,) in more.matches.values_list("pk"))
    assert f'href="/matches/{last.pk}/"' in rest


def test_a_later_page_of_matches_is_not_called_its_newest_results(
    client: Client, broker: Redis
) -> None:
    boards.played_board(n_matches=84)
    assert "Its newest results" in get_page(client, f"/agents/{_agent().pk}/")
    assert "Its newest results" not in get_page(client, f"/agents/{_agent().pk}/?match=40")


def test_a_page_of_cancelled_matches_does_not_say_that_none_is_done(
    client: Client, broker: Redis, monkeypatch: Any
) -> None:
    monkeypatch.setattr(agentmatches, "N_LOOKED", 3)
    league = boards.planned_board(n_matches=84)
    boards.play_some(league, 10, boards.by_strength())
    cancel_tournament(league, now=NOW)
    last = Match.objects.latest("pk").pk
    page = get_page(client, f"/agents/{_agent().pk}/?match={last}")
    assert "None of these is done." in page
    assert "is done yet" not in page
    assert "Earlier matches" in page


def test_its_quarantine_is_said_once(client: Client) -> None:
    agent = register_spelled_agent("random", game="chess")
    Agent.objects.update(quarantined_at=NOW, quarantine_reason="It crashed.")
    assert get_page(client, f"/agents/{agent.pk}/").count("It crashed.") == 1


def test_its_record_is_the_sum_over_both_seats(broker: Redis) -> None:
    tournament = boards.played_board()
    rating = Rating.objects.get(agent=_agent())
    opponents, after = records.list_opponents(tournament.leaderboard_id, rating.agent_id, limit=50)
    assert after is None
    assert len(opponents) == 6
    sums = [sum(part) for part in zip(*(opponent.record for opponent in opponents), strict=True)]
    assert sums == [rating.n_wins, rating.n_draws, rating.n_losses]


def test_opponents_come_in_pages_by_key(client: Client, broker: Redis, monkeypatch: Any) -> None:
    monkeypatch.setattr(agents, "OPPONENTS_A_PAGE", 4)
    boards.played_board()
    address = f"/agents/{_agent().pk}/"
    first = get_page(client, address)
    more = re.search(r"opponent=(\d+)#", first)
    assert more
    rest = get_page(client, f"{address}?opponent={more[1]}")
    names = [set(_named(page)) for page in (first, rest)]
    assert (len(names[0]), len(names[1]), len(names[0] | names[1])) == (4, 2, 6)


def _named(page: str) -> list[str]:
    part = page[page.index('id="opponents"') : page.index('id="failures"')]
    return re.findall(r'<a href="/agents/\d+/">([^<]+)<', part)


def test_its_matches_come_newest_first_in_pages_by_key(client: Client, broker: Redis) -> None:
    boards.played_board(n_matches=420)
    address = f"/agents/{_agent().pk}/"
    ids: list[str] = []
    link = address
    for _ in range(6):
        page = get_page(client, link)
        part = page[page.index('id="matches"') :]
        ids += re.findall(r'href="/matches/(\d+)/"', part)
        more = re.search(r"\?match=(\d+)#", part)
        if not more:
            break
        link = f"{address}?match={more[1]}"
    seats = Seat.objects.filter(agent=_agent()).order_by("-match_id")
    assert list(map(int, ids)) == list(seats.values_list("match_id", flat=True))


def test_a_failure_is_listed_with_the_guilty_agent_only(client: Client, broker: Redis) -> None:
    boards.played_board()
    forfeit = Attempt.objects.filter(ending=Attempt.Ending.FORFEIT).first()
    assert forfeit is not None
    guilty, other = (forfeit.match.agent_ids[seat] for seat in (forfeit.seat, 1 - forfeit.seat))
    assert forfeit.match_id in _failed(guilty)
    assert forfeit.match_id not in _failed(other)
    assert f'href="/matches/{forfeit.match_id}/">' in get_page(client, f"/agents/{guilty}/")


def _failed(agent: int) -> list[int]:
    return [attempt.match_id for attempt in agentmatches.find_failures(agent, before=None).attempts]


def test_the_search_for_failures_goes_on_where_it_ended(broker: Redis, monkeypatch: Any) -> None:
    monkeypatch.setattr(agentmatches, "N_SEARCHED", 7)
    boards.played_board()
    agent = Attempt.objects.filter(ending="forfeit").latest("pk").match.agent_ids[0]
    n_failures, before, n_searched = 0, None, 0
    while True:
        page = agentmatches.find_failures(agent, before=before)
        n_failures, n_searched = n_failures + len(page.attempts), n_searched + page.n_searched
        before = page.before
        if before is None:
            break
    assert n_searched == Seat.objects.filter(agent=agent).count()
    assert n_failures == Rating.objects.get(agent=agent).n_forfeits


def test_its_history_is_drawn_from_snapshots(client: Client, broker: Redis) -> None:
    tournament = boards.played_board()
    address = f"/agents/{_agent().pk}/"
    assert "There is no history yet" in get_page(client, address)
    _snapshots(tournament.leaderboard_id, 3)
    page = get_page(client, address)
    assert '<polygon class="band series-1" points="9.0,' in page
    assert page.count('class="number">2') >= 3


def _snapshots(board: int, n: int) -> None:
    rating = Rating.objects.get(leaderboard=board, agent=_agent())
    for minute in range(n):
        row = [rating.agent_id, 25 + minute, 2.0, 25.0, 2.0]
        RatingSnapshot.objects.create(
            leaderboard=rating.leaderboard,
            taken_at=later(60 * minute),
            n_outcomes=minute,
            results_hash=str(minute),
            table=zlib.compress(json.dumps([[0, 1, 1, 1, 1], row]).encode()),
        )


def test_an_agent_without_matches_has_a_page(client: Client) -> None:
    register_spelled_agent("random", game="chess")
    page = get_page(client, f"/agents/{Agent.objects.get().pk}/")
    for words in ("no leaderboard", "None of its matches is done yet", "None in the 0 matches"):
        assert words in page


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?match=x", "match must be a number"),
        ("?failure=-1", "failure must be a number"),
        ("?opponent=1e9", "opponent must be a number"),
        ("?board=elsewhere", "not on a leaderboard"),
    ],
)
def test_a_bad_address_is_a_404_that_names_it(
    client: Client, broker: Redis, query: str, words: str
) -> None:
    boards.planned_board(n_matches=42)
    assert words in get_page(client, f"/agents/{_agent().pk}/{query}", status=404)


def test_a_checkpoint_links_to_what_it_was_trained_from(client: Client, broker: Redis) -> None:
    boards.planned_board(n_matches=42)
    line = _line("mcts:20", "mcts:100", "")
    child, parent = Agent.objects.get(name="mcts:100"), Agent.objects.get(name="mcts:20")
    page = get_page(client, f"/agents/{child.pk}/")
    assert f'<a href="/agents/{parent.pk}/">run@0 (000000000000)</a>' in page
    assert line[1].sha256 in page
    assert "run@2 (222222222222)" in page
    assert f'<a href="/agents/{child.pk}/">run@1' in get_page(client, f"/agents/{parent.pk}/")


def _line(*names: str) -> list[Checkpoint]:
    """Return checkpoints, each trained from the one before; agents of these names play them."""
    line: list[Checkpoint] = []
    for step, name in enumerate(names):
        checkpoint = Checkpoint.objects.create(
            sha256=f"{step}" * 64,
            game="connect_four",
            architecture="mlp",
            run="run",
            step=step,
            parent=line[-1] if line else None,
            source_name="weights",
            n_bytes=1,
            state=Checkpoint.State.READY,
            created_at=NOW,
        )
        Agent.objects.filter(name=name).update(checkpoint=checkpoint)
        line.append(checkpoint)
    return line


def test_a_long_line_of_checkpoints_asks_no_more_of_the_database(
    broker: Redis, django_assert_num_queries: Any
) -> None:
    boards.planned_board(n_matches=42)
    line = _line("mcts:20", *[""] * 7, "mcts:100")
    for checkpoint, n_ancestors in ((line[1], 1), (line[-1], 8)):
        with django_assert_num_queries(5):
            kin = lineages.trace_lineage(Agent(checkpoint=checkpoint, game="connect_four"))
        assert kin is not None
        assert len(kin.ancestors) == n_ancestors


def test_there_is_no_page_of_an_unknown_agent(client: Client) -> None:
    get_page(client, "/agents/1/", status=404)


def test_queries_do_not_grow_with_rows(
    client: Client, broker: Redis, django_assert_num_queries: Any
) -> None:
    few = boards.played_board("few", n_matches=84)
    many = boards.played_board("many", n_matches=840)
    for board in (few, many):
        _snapshots(board.leaderboard_id, board.n_matches // 10)
    assert PairCount.objects.count()
    with django_assert_num_queries(N_QUERIES) as queries:
        get_page(client, f"/agents/{_agent().pk}/?board=few")
    with django_assert_num_queries(len(queries)):
        get_page(client, f"/agents/{_agent().pk}/?board=many")
    assert Match.objects.count() > 900


N_QUERIES = 27
