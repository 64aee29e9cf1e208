"""What a tournament says of its own matches: places, who won or leads, groups, and early ends."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from redis import Redis

from arena.messages import MatchOrderRow, ResultRow
from matches.ledger import planning, tournaments
from matches.models import Match, Tournament
from matches.plans import TournamentPlan
from matches.ratings import rater
from matches.tests import boards, factories
from matches.tests.factories import NOW, later
from pages import brackets, early_ends, round_tables, tournament_results
from pages.tournament_results import Results

pytestmark = pytest.mark.django_db(transaction=True)
FIELD = tuple(f"level:{level}" for level in (5, 25, 45, 65, 85))


@pytest.fixture(autouse=True)
def _stores(broker: Redis) -> None:
    """Have a broker, and a fast store that knows nothing."""
    cache.clear()


def _draw(row: MatchOrderRow) -> ResultRow:
    return factories.result(row, ranks=[0, 0])


def _first_agent_wins(row: MatchOrderRow) -> ResultRow:
    first, second = Match.objects.get(pk=row.match).agent_ids
    return factories.result(row, ranks=[0, 1] if first < second else [1, 0])


def _last_agent_wins(row: MatchOrderRow) -> ResultRow:
    first, second = Match.objects.get(pk=row.match).agent_ids
    return factories.result(row, ranks=[0, 1] if first > second else [1, 0])


def _read(tournament: Tournament) -> Results:
    cache.clear()
    tournament.refresh_from_db()
    return tournament_results.describe_results(tournament, brackets.describe_rounds(tournament))


def _page(client: Client, tournament: Tournament) -> str:
    cache.clear()
    response = client.get(f"/tournaments/{tournament.pk}/")
    assert response.status_code == 200
    return " ".join(unescape(response.content.decode()).split())


def _headline(client: Client, tournament: Tournament) -> str:
    page = _page(client, tournament)
    if '<p class="champion">' not in page:
        return ""
    text = page[page.index('<p class="champion">') :].partition("</p>")[0]
    return " ".join("".join(part.partition(">")[2] for part in text.split("<")).split())


def _play_on(tournament: Tournament, play: boards.Play, *, steps: int = 99) -> None:
    for step in range(steps):
        planning.plan_scheduled(now=later(10.0 * step))
        if not Match.objects.filter(Match.is_open()).exists():
            break
        boards.play_some(tournament, 1_000, play, now=later(10.0 * step))
        rater.rate(tournament.leaderboard_id, now=later(10.0 * step + 1))
    tournament.refresh_from_db()


def test_the_standings_are_those_of_its_own_matches(client: Client) -> None:
    tournament = factories.planned(12)
    assert _headline(client, tournament) == ""
    assert "Standings" not in _page(client, tournament)
    boards.play_some(tournament, 6, _first_agent_wins)
    names = [agent.name for agent in tournament.agents.order_by("pk")]
    results = _read(tournament)
    assert [(line.place, str(line.agent)) for line in results.lines] == list(enumerate(names, 1))
    assert [line.score for line in results.lines] == [100, 50, 0]
    assert sum(line.record.n for line in results.lines) == 12
    assert _headline(client, tournament) == (f"In the lead: {names[0]} with 100.0 % of the points")
    boards.play_some(tournament, 6, _first_agent_wins)
    assert _headline(client, tournament) == f"Won by {names[0]} with 100.0 % of the points"


def test_nobody_has_won_by_standings_that_were_made_before_the_end(client: Client) -> None:
    tournament = factories.planned(12)
    boards.play_some(tournament, 6, _first_agent_wins)
    assert _headline(client, tournament).startswith("In the lead: ")
    boards.play_some(tournament, 6, _first_agent_wins)
    kept = client.get(f"/tournaments/{tournament.pk}/").content.decode()
    assert "Won by" not in kept
    assert _headline(client, tournament).startswith("Won by ")


def test_a_shared_first_place_is_said_plainly(client: Client) -> None:
    tournament = factories.planned(12)
    boards.play_some(tournament, 12, _draw)
    first, second, third = (str(line.agent) for line in _read(tournament).lines)
    assert [line.place for line in _read(tournament).lines] == [1, 1, 1]
    assert _headline(client, tournament) == (
        f"First place is shared by {first}, {second} and {third} with 50.0 % of the points each"
    )


def test_who_led_when_it_was_cancelled(client: Client) -> None:
    tournament = factories.planned(12)
    boards.play_some(tournament, 6, _first_agent_wins)
    tournaments.cancel_tournament(tournament, now=NOW)
    assert _headline(client, tournament).startswith("In the lead when it was cancelled: ")


def test_where_pairs_are_chosen_by_results_the_rating_places(client: Client) -> None:
    tournament = factories.scheduled(40, agents=FIELD, pairing="quality")
    _play_on(tournament, boards.by_strength(forfeits=0))
    results = _read(tournament)
    ratings = [float(line.rating) for line in results.lines]
    assert results.by_rating
    assert ratings == sorted(ratings, reverse=True)
    assert _headline(client, tournament) == (
        f"First by rating: {results.lines[0].agent} with a rating of {results.lines[0].rating}"
    )


def test_an_agent_rated_elsewhere_is_placed_by_its_rating_without_a_match_here() -> None:
    boards.play_some(elsewhere := factories.planned(20, agents=FIELD), 20, _last_agent_wins)
    rater.rate(elsewhere.leaderboard_id, now=NOW)
    tournament = tournaments.schedule_tournament(
        TournamentPlan(name="again", n_matches=40, pairing="quality"),
        leaderboard=elsewhere.leaderboard,
        agents=list(elsewhere.agents.order_by("pk")),
    )
    lines = _read(tournament).lines
    ratings = [float(line.rating) for line in lines]
    assert [line.record.n for line in lines] == [0] * len(FIELD)
    assert [line.place for line in lines] == [1, 2, 3, 4, 5]
    assert ratings == sorted(ratings, reverse=True)


def test_who_has_not_played_stands_last_and_has_no_place() -> None:
    tournament = factories.planned(12, agents=FIELD)
    boards.play_some(tournament, 2, _first_agent_wins)
    assert [line.place for line in _read(tournament).lines] == [1, 2, None, None, None]


def test_an_unrated_tournament_has_its_results_too(client: Client) -> None:
    tournament = factories.planned(12, is_rated=False)
    boards.play_some(tournament, 12, _first_agent_wins)
    assert _headline(client, tournament).startswith("Won by ")
    page = _page(client, tournament)
    assert "Who beat whom" in page
    assert "All matches of the board" not in page


def test_groups_have_a_table_each_and_the_final_says_who_won(client: Client) -> None:
    field = tuple(f"level:{level}" for level in range(5, 95, 10))
    parameters = {"group_size": 4, "rounds": 2, "stages": 2, "finalists": 3}
    tournament = factories.scheduled(
        200, agents=field, pairing="groups", pairing_parameters=parameters
    )
    _play_on(tournament, boards.by_strength(forfeits=0))
    bracket = brackets.describe_rounds(tournament)
    assert bracket is not None
    assert [(stage.title, len(stage.groups)) for stage in bracket.stages] == [
        ("Final", 1),
        ("Semi-finals", 2),
        ("Stage 2", 2),
        ("Stage 1", 2),
    ]
    for stage in bracket.stages[2:]:
        assert sorted(len(group.rows) for group in stage.groups) == [4, 5]
    final = bracket.stages[0].groups[0]
    n_out = 9 - len(
        {row.agent for stage in bracket.stages[:2] for group in stage.groups for row in group.rows}
    )
    placed = [line for line in _read(tournament).lines if line.place is not None]
    assert [(line.place, line.agent) for line in placed[:3]] == [
        (row.rank, row.agent) for row in final.rows
    ]
    assert [line.reached for line in placed] == [
        *["Final"] * 3,
        *["Semi-finals"] * (len(placed) - 3 - n_out),
        *["Groups"] * n_out,
    ]
    assert [line.place for line in placed[3:]] == list(range(4, 10)), "nobody is left without"
    assert [line.points for line in placed[3:]] == [""] * 6
    assert _headline(client, tournament).startswith(("Won by", "First place is shared"))
    page = _page(client, tournament)
    assert "Group 2</caption>" in page
    assert '<caption class="visually-hidden">Final</caption>' in page
    assert "Two points for a block" not in page
    assert "A match that is won gives one point, a draw one half" in page


def test_more_groups_than_fit_are_counted(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_tables, "MOST_GROUPS", 1)
    parameters = {"group_size": 2, "rounds": 1, "stages": 1, "finalists": 2}
    tournament = factories.scheduled(
        40, agents=FIELD, pairing="groups", pairing_parameters=parameters
    )
    _play_on(tournament, boards.by_strength(forfeits=0), steps=1)
    assert "The first 1 of 2 groups." in _page(client, tournament)
    assert _headline(client, tournament) == "", "nobody is in the final yet"


def _stopped(state: str, n_played: int = 4) -> Tournament:
    tournament = factories.scheduled(40, agents=FIELD, pairing="knockout")
    planning.plan_scheduled(now=NOW)
    boards.play_some(tournament, n_played, _first_agent_wins)
    Tournament.objects.filter(pk=tournament.pk).update(state=state)
    tournament.refresh_from_db()
    return tournament


@pytest.mark.parametrize(
    ("state", "words", "command"),
    [
        (
            "done",
            "Stopped before the final: 4 of the 40 matches of its budget were played, "
            "36 not played. Extend it to play on.",
            "extend",
        ),
        ("paused", "Paused before the final: resume it to play on.", "resume"),
        ("cancelled", "Cancelled before the final: what was played stays", ""),
    ],
)
def test_a_bracket_without_a_winner_says_why_and_what_to_do(
    client: Client, state: str, words: str, command: str
) -> None:
    tournament = _stopped(state)
    page = _page(client, tournament)
    heading, _, bracket = page.partition('id="rounds"')
    assert words in heading
    assert words not in bracket
    assert "under way" not in bracket.partition("</section>")[0] or state == "paused"
    assert (f"./run {command} {tournament.pk}" in heading) == bool(command)
    user = User.objects.create_user("knockout-operator", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_tournament"))
    client.force_login(user)
    heading = _page(client, tournament).partition('id="rounds"')[0]
    assert "<code>" not in heading
    address = f"/admin/matches/tournament/ask/{command}/?pk={tournament.pk}&from=row"
    assert (address in heading) == bool(command)
    if command:
        assert client.get(address).status_code == 200


def test_as_many_matches_as_the_note_says_reach_the_final() -> None:
    tournament = _stopped("done", 4)
    Tournament.objects.filter(pk=tournament.pk).update(n_matches=tournament.n_planned)
    bracket = brackets.describe_rounds(tournament)
    assert bracket is not None
    tournaments.extend_tournament(tournament, bracket.n_needed)
    _play_on(tournament, boards.by_strength(forfeits=0))
    cache.clear()
    bracket = brackets.describe_rounds(tournament)
    assert bracket is not None
    assert bracket.is_decided
    assert early_ends.list_notes(None, tournament, bracket) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"n_done": 40}, "its budget of 40 matches is used up"),
        ({"n_done": 30, "n_void": 8, "n_cancelled": 2}, "were played, 8 void, 2 cancelled"),
        ({"n_done": 1}, "1 of the 40 matches of its budget was played, 39 not played"),
    ],
)
def test_a_budget_is_used_up_only_where_all_of_it_was_played(
    client: Client, counts: dict[str, int], words: str
) -> None:
    tournament = _stopped("done")
    Tournament.objects.filter(pk=tournament.pk).update(**counts)
    assert words in _page(client, tournament)


@pytest.mark.parametrize(("state", "verb"), [("done", "won"), ("running", "has won yet")])
def test_a_bracket_without_a_winner_says_who_came_how_far(
    client: Client, state: str, verb: str
) -> None:
    tournament = _stopped(state, 8)
    [sentence] = re.findall(rf"Nobody {verb}: ([^<]+)", _page(client, tournament))
    bracket = brackets.describe_rounds(tournament)
    assert bracket is not None
    left = [row for row in bracket.table if row.rank is None]
    furthest = [row.agent.name for row in left if row.reached == "Final"]
    assert sentence.startswith(
        f"{furthest[0]} reached the final; {len(left) - 1} more are still in"
    )


def test_byes_are_one_line_and_no_cards(client: Client) -> None:
    tournament = _stopped("running", 4)
    page = _page(client, tournament)
    assert page.count("Without a match in this round (bye):") == 1
    (line,) = re.findall(r'<p class="byes quiet">(.*?)</p>', page)
    assert line.count("/agents/") == 3
    assert '<span class="quiet">bye</span>' not in page


def test_groups_say_how_far_they_are_and_what_orders_them(client: Client) -> None:
    parameters = {"group_size": 2, "rounds": 1, "stages": 1, "finalists": 2}
    tournament = factories.scheduled(
        40, agents=FIELD, pairing="groups", pairing_parameters=parameters
    )
    _play_on(tournament, boards.by_strength(forfeits=0), steps=1)
    page = _page(client, tournament)
    assert "Nobody has won yet: play is in stage 1, and the final decides." in page
    assert "Who goes on, and into which group, is drawn by rating on the leaderboard" in page
    assert 'title="Blocks played: one game seed each' in page


def test_names_are_listed_as_in_a_sentence() -> None:
    assert early_ends.join_names(["a"], most=2) == "a"
    assert early_ends.join_names(["a", "b"], most=2) == "a and b"
    assert early_ends.join_names(["a", "b", "c"], most=3) == "a, b and c"
    assert early_ends.join_names(["a", "b", "c"], most=2) == "a, b and 1 more"


def test_a_running_bracket_names_nobody_and_places_who_is_out(client: Client) -> None:
    tournament = _stopped("running", 8)
    assert _headline(client, tournament) == ""
    assert "before the final" not in _page(client, tournament)
    places = [line.place for line in _read(tournament).lines]
    assert sorted(places, key=str) == [3, 5, None, None, None]


def test_void_matches_of_a_bracket_are_told(client: Client) -> None:
    tournament = _stopped("running")
    Tournament.objects.filter(pk=tournament.pk).update(n_void=1)
    page = _page(client, tournament)
    assert "1 match is void and gave nobody points; an operator can requeue it." in page
    assert f'href="/matches/?tournament={tournament.pk}&state=void"' in page


def test_queries_of_rounds_do_not_grow_with_entrants(client: Client) -> None:
    counts = []
    for n_agents in (9, 18):
        field = [f"level:{level}" for level in range(1, n_agents + 1)]
        parameters = {"group_size": 3, "rounds": 1, "stages": 1, "finalists": 2}
        plan: dict[str, Any] = {"pairing": "groups", "pairing_parameters": parameters}
        tournament = factories.scheduled(90, agents=field, board=f"of-{n_agents}", **plan)
        _play_on(tournament, boards.by_strength(forfeits=0), steps=2)
        cache.clear()
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(f"/tournaments/{tournament.pk}/")
        counts.append(len(queries))
    assert counts[0] == counts[1]
