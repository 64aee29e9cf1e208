"""The page of a match."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape
from redis import Redis

from arena.games.pictures import Side
from arena.trajectories import Episode
from matches.artifacts.agents import register_spelled_agent
from matches.models import Agent, Match, Outcome, Rating, Tournament
from matches.tests import boards, factories, pieces
from pages.matchpages import find_match, replay_moves
from pages.seat_signs import list_signs
from pages.seating import list_seats, tell_result, weigh_result
from pages.tests.reading import get_page
from pages.tests.test_replays import _played

pytestmark = pytest.mark.django_db


@pytest.fixture
def played(broker: Redis) -> Match:
    """Return a match whose moves fit its game."""
    tournament = boards.planned_board(n_matches=42)
    boards.play_some(tournament, 42, boards.by_strength(forfeits=0))
    recorded = _played("connect_four")
    Match.objects.update(game_seed=recorded.game_seed)
    Outcome.objects.update(actions=recorded.actions)
    return Match.objects.earliest("pk")


def _n_steps(match: Match) -> int:
    return len(match.outcome.actions.split())


def test_it_opens_on_the_last_position(client: Client, played: Match) -> None:
    page, last = get_page(client, f"/matches/{played.pk}/"), _n_steps(played)
    assert f"Step {last} of {last}" in page
    assert "The game is over" in page
    assert page.count('class="fill-paper"') == 42


def test_its_program_plays_it_again(
    client: Client, played: Match, capsys: pytest.CaptureFixture[str]
) -> None:
    page = get_page(client, f"/matches/{played.pk}/")
    program = unescape(page.partition('<pre class="actions">')[2].partition("</pre>")[0])
    exec(program, {})
    *moves, end = capsys.readouterr().out.splitlines()
    assert len(moves) == _n_steps(played)
    assert end.startswith("The game is over")


def test_a_match_that_cannot_be_replayed_has_no_program(client: Client, played: Match) -> None:
    Outcome.objects.update(actions="0 77")
    page = get_page(client, f"/matches/{played.pk}/")
    assert "registry.get" not in page
    assert '<code class="actions">0 77</code>' in page


def test_every_step_has_an_address_with_its_neighbours(client: Client, played: Match) -> None:
    page, last = get_page(client, f"/matches/{played.pk}/?step=3"), _n_steps(played)
    for step in (0, 2, 4, last):
        assert f'href="?step={step}#replay"' in page
    assert 'href="?step=3#replay" aria-current="step"' in page
    first = get_page(client, f"/matches/{played.pk}/?step=0")
    assert 'rel="prev"' not in first
    assert 'rel="next"' in first
    assert "After the opening" in first


@pytest.mark.parametrize("step", ["-1", "x", "", "1000"])
def test_a_bad_step_is_a_404_that_names_it(client: Client, played: Match, step: str) -> None:
    page = get_page(client, f"/matches/{played.pk}/?step={step}", status=404)
    assert "step" in page
    assert step in page


def test_moves_that_do_not_fit_are_no_error_of_the_page(client: Client, played: Match) -> None:
    Outcome.objects.update(actions="0 77")
    page = get_page(client, f"/matches/{played.pk}/")
    assert "move 2 does not fit the rules" in page
    assert "Step 1 of 1" in page


def test_what_cannot_be_replayed_still_has_a_page(client: Client, played: Match) -> None:
    board = played.tournament.leaderboard
    type(board).objects.update(opening_plies=500)
    assert "is too large" in get_page(client, f"/matches/{played.pk}/")
    assert "no steps to show" in get_page(client, f"/matches/{played.pk}/?step=0", status=404)


def test_a_match_that_has_not_ended_shows_no_move_and_says_why(
    client: Client, broker: Redis
) -> None:
    factories.planned()
    match = Match.objects.earliest("pk")
    page = get_page(client, f"/matches/{match.pk}/")
    assert 'id="replay"' not in page
    assert "not sent to a node yet" in page
    get_page(client, f"/matches/{match.pk}/?step=0", status=404)


def test_the_names_of_many_seats_stand_smaller(
    client: Client, broker: Redis, played: Match
) -> None:
    agents = [
        Agent.objects.create(name=name, game="tiny_bridge", policy="random") for name in "abcd"
    ]
    bridge = factories.planned(4, agents=agents, game="tiny_bridge", board="bridge")
    match = Match.objects.filter(tournament=bridge).earliest("pk")
    assert '<h1 class="of-many">' in get_page(client, f"/matches/{match.pk}/")
    assert "<h1><a" in get_page(client, f"/matches/{played.pk}/")


def test_it_links_to_its_agents(client: Client, played: Match) -> None:
    page = get_page(client, f"/matches/{played.pk}/")
    for agent in played.agent_ids:
        assert f'href="/agents/{agent}/"' in page


def test_queries_do_not_grow_with_moves_or_matches(
    client: Client, played: Match, django_assert_num_queries: Any
) -> None:
    for step in ("", "?step=0", "?step=5"):
        with django_assert_num_queries(8):
            get_page(client, f"/matches/{played.pk}/{step}")
    with django_assert_num_queries(3):
        get_page(client, f"/matches/{played.pk}/frames/")


def test_all_frames_come_at_once_as_the_pages_of_the_steps_show_them(
    client: Client, played: Match
) -> None:
    sent = client.get(f"/matches/{played.pk}/frames/").json()
    last = _n_steps(played)
    assert len(sent["frames"]) == last + 1
    for step in (0, 3, last):
        page = get_page(client, f"/matches/{played.pk}/?step={step}")
        description, [[box, words, drawn, events]] = sent["frames"][step].values()
        numbers = [*sent["ground"], *drawn]
        assert f">{''.join(sent['shapes'][n] for n in numbers)}</svg>" in page
        assert f'viewBox="{box}"' in page
        assert escape(description) in page
        assert escape(words) in page
        assert events == [], "this game tells none"
    assert len(sent["ground"]) >= 42, "the empty board is sent once"


def test_each_seat_may_be_looked_over_the_shoulder(client: Client, broker: Redis) -> None:
    agents = [register_spelled_agent("random", game="kuhn_poker", copy=copy) for copy in (1, 2)]
    tournament = factories.planned(2, agents=agents, game="kuhn_poker", board="kuhn")
    boards.play_some(tournament, 2, boards.by_strength(forfeits=0))
    Outcome.objects.update(actions="0 0")
    match = Match.objects.earliest("pk")
    assert "fill-back" not in get_page(client, f"/matches/{match.pk}/?step=1")
    page = get_page(client, f"/matches/{match.pk}/?step=1&seat=1")
    assert page.count("fill-back") == 1
    assert 'href="?step=2&amp;seat=1#replay"' in page
    get_page(client, f"/matches/{match.pk}/?step=1&seat=2", status=404)


def test_it_leads_to_its_neighbours_and_to_the_same_start_with_seats_changed(
    client: Client, played: Match
) -> None:
    page = get_page(client, f"/matches/{played.pk}/")
    after = Match.objects.get(tournament=played.tournament, sequence=played.sequence + 1)
    sister = Match.objects.get(
        tournament=played.tournament,
        block=played.block,
        lineup=",".join(map(str, reversed(played.agent_ids))),
    )
    assert f'rel="next" href="/matches/{after.pk}/"' in page
    assert 'rel="prev" href="/matches/' not in page
    assert f'Same start, seats changed: <a href="/matches/{sister.pk}/">' in page


@pytest.mark.parametrize("path", ["frames/", "download.json"])
def test_a_match_without_moves_has_no_frames_and_no_file(
    client: Client, broker: Redis, path: str
) -> None:
    factories.planned()
    get_page(client, f"/matches/{Match.objects.earliest('pk').pk}/{path}", status=404)


def test_a_match_that_cannot_be_replayed_is_no_file(client: Client, played: Match) -> None:
    type(played.leaderboard).objects.update(game="hex", game_parameters={"board_size": "large"})
    page = get_page(client, f"/matches/{played.pk}/download.sgf", status=404)
    assert "board_size" in page


def test_a_form_that_its_game_has_not_is_a_404_that_names_those_it_has(
    client: Client, played: Match
) -> None:
    page = get_page(client, f"/matches/{played.pk}/download.pgn", status=404)
    assert "json" in page


def test_a_match_is_downloaded_as_json(client: Client, played: Match) -> None:
    answer = client.get(f"/matches/{played.pk}/download.json")
    assert answer["Content-Disposition"] == f'attachment; filename="match-{played.pk}.json"'
    sent = answer.json()
    assert (sent["game"], sent["match"]) == ("connect_four", played.pk)
    assert " ".join(str(move["action"]) for move in sent["moves"]) == played.outcome.actions
    assert sent["moves"][0]["name"].startswith("column ")


def test_what_networks_expected_is_shown_beside_the_moves(client: Client, broker: Redis) -> None:
    tournament = factories.planned(2, keeps_trajectories=True)
    pieces.play(tournament, 1, spoil=_expect)
    match = Match.objects.get(state=Match.State.DONE)
    page = get_page(client, f"/matches/{match.pk}/")
    # Two moves are no curve.
    assert "Too early to draw" in page
    assert ">+0.50</span>" in page
    Outcome.objects.update(trajectory="0" * 64)
    assert "Too early to draw" not in get_page(client, f"/matches/{match.pk}/")


def _expect(episode: Episode) -> Episode:
    return episode._replace(steps=[step._replace(value=0.5) for step in episode.steps])


def test_it_tells_how_it_ended_and_what_the_result_is_worth(client: Client, played: Match) -> None:
    page = get_page(client, f"/matches/{played.pk}/")
    assert "by the rules" in page
    assert "ms on average" in page
    worth = weigh_result(Match.objects.select_related("outcome").get(pk=played.pk))
    best = played.outcome.ranks.split(",").index("0")
    assert worth[best] > 0 > worth[1 - best]
    assert f'data-label="rating change" class="number">+{worth[best]:.2f}</td>' in page


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"ranks": "0,1"}, "A won by the rules after 3 moves."),
        ({"ranks": "0,0"}, "A draw by the rules after 3 moves."),
        ({"ranks": "0,1", "actions": ""}, "A won."),
        (
            {"ranks": "1,0", "is_forfeit": True, "guilty_seat": 0, "reason": "illegal"},
            "B won. A lost by forfeit after 3 moves: an illegal move.",
        ),
    ],
)
def test_the_first_words_say_who_won_and_why(
    played: Match, outcome: dict[str, Any], words: str
) -> None:
    Outcome.objects.filter(match=played).update(**{"actions": "1 2 3"} | outcome)
    match = find_match(played.pk)
    first, second = (str(row.agent) for row in match.seat_rows.all())
    result = tell_result(match, list_seats(match, game="connect_four"))
    assert result.replace(first, "A").replace(second, "B") == words


@pytest.mark.parametrize(
    ("reason", "detail", "words"),
    [
        (
            "illegal",
            "arena.errors.IllegalActionError: connect_four: 9 is not in 0..6 (connect_four.py:88)",
            "an illegal move (connect_four: 9 is not in 0..6).",
        ),
        ("illegal", "action 9 is not in 0..6", "an illegal move (action 9 is not in 0..6)."),
        ("illegal", "", "an illegal move."),
        ("invalid", 130 * "x", f"an invalid answer ({120 * 'x'}…)."),
        ("crash", "ValueError: no (agent.py:3)", "it crashed."),
    ],
)
def test_a_forfeit_says_which_move_was_illegal_where_it_is_known(
    client: Client, played: Match, reason: str, detail: str, words: str
) -> None:
    fields = {"is_forfeit": True, "guilty_seat": 0, "reason": reason, "ranks": "1,0"}
    Outcome.objects.filter(match=played).update(**fields)
    played.attempts.update(ending="forfeit", reason=reason, detail=detail)
    page = get_page(client, f"/matches/{played.pk}/")
    assert page.count(f"forfeit: {words}") == 1, "where the replay ends"
    assert re.search(rf"forfeit after \d+ moves: {re.escape(words)}", page)
    frames = client.get(f"/matches/{played.pk}/frames/").json()["frames"]
    assert frames[-1]["said"].endswith(words)


def test_a_match_that_is_void_says_so_first_and_names_no_winner(
    client: Client, played: Match
) -> None:
    first, _ = (str(row.agent) for row in find_match(played.pk).seat_rows.all())
    Outcome.objects.filter(match=played).update(ranks="0,1")
    for path in (f"/matches/{played.pk}/", "/matches/", f"/tournaments/{played.tournament_id}/"):
        assert "counts for nobody" not in get_page(client, path), path
    Match.objects.filter(pk=played.pk).update(state="void", void_reason="operator")
    page = get_page(client, f"/matches/{played.pk}/")
    void_at, struck = page.index("This match is void"), page.index("Before it was struck: ")
    assert void_at < struck < page.index("<dl") < page.index('id="replay"')
    assert f"{first} won" in page[struck : struck + 200]
    assert '<p class="champion">' not in page
    for path in (f"/matches/?tournament={played.tournament_id}&state=void",
                 f"/tournaments/{played.tournament_id}/"):  # fmt: skip
        text = " ".join(get_page(client, path).split())
        row = text.partition(f'<a href="/matches/{played.pk}/">')[2].partition("</tr>")[0]
        assert "<b>void</b>, counts for nobody: operator" in row
        assert not re.search("won|lost|draw", row)


def test_a_seat_has_one_sign_in_the_words_and_in_the_list_of_moves(
    client: Client, played: Match
) -> None:
    page = " ".join(get_page(client, f"/matches/{played.pk}/?step=2").split())
    first, second = (str(row.agent) for row in find_match(played.pk).seat_rows.all())
    assert f"{second} (red) played column " in page
    assert page.count(f'<span class="visually-hidden">{first} (yellow): </span>') >= 3
    assert re.search(r'<svg class="drawn sign"[^>]*><circle class="fill-yellow"', page)


def test_seats_without_pieces_and_with_pieces_of_one_colour_differ(played: Match) -> None:
    match, replay = find_match(played.pk), replay_moves(find_match(played.pk), steps=())
    for sides in ((), (Side("a", "ink", "A"), Side("b", "ink", "B"))):
        signs = list_signs(match, replay._replace(sides=sides))
        assert [sign.tint for sign in signs] == ["blue", "yellow"]
    assert list_signs(match, replay._replace(sides=()))[1].name.endswith(" (seat 1)")


@pytest.mark.parametrize("left_out", ["rating", "is_rated"])
def test_a_result_that_moves_no_rating_is_worth_nothing(played: Match, left_out: str) -> None:
    if left_out == "rating":
        Rating.objects.filter(agent=played.agent_ids[0]).delete()
    else:
        Tournament.objects.update(is_rated=False)
    assert weigh_result(Match.objects.get(pk=played.pk)) == {}


def test_team_mates_stand_together(client: Client, broker: Redis) -> None:
    agents = [
        register_spelled_agent("random", game="tiny_bridge", copy=copy) for copy in (1, 2, 3, 4)
    ]
    tournament = factories.planned(4, agents=agents, game="tiny_bridge", board="bridge")
    boards.play_some(tournament, 1, lambda row: factories.result(row, ranks=[2, 0, 2, 0]))
    match = Match.objects.select_related("outcome").get(state=Match.State.DONE)
    seats = list_seats(match, game="tiny_bridge")
    assert [seat["seat"] for seat in seats] == [0, 2, 1, 3]
    assert [seat["team"] for seat in seats] == [1, 1, 2, 2]
    assert [seat["result"] for seat in seats] == ["lost", "lost", "won", "won"]
    page = " ".join(get_page(client, f"/matches/{match.pk}/").split())
    words = re.findall(r'<span class="quiet">(and|against)</span>', page)
    assert words == ["and", "against", "and"]
    assert ' scope="col">Team</th>' in page


@pytest.mark.parametrize(
    ("ranks", "results"),
    [
        ([0, 0, 2], ["place 1, shared", "place 1, shared", "place 3"]),
        ([0, 1, 1], ["place 1", "place 2, shared", "place 2, shared"]),
        ([0, 0, 0], ["draw", "draw", "draw"]),
    ],
)
def test_who_shares_the_first_place_of_three_has_not_drawn(
    client: Client, broker: Redis, ranks: list[int], results: list[str]
) -> None:
    agents = [register_spelled_agent("random", game="kuhn_poker_3", copy=n) for n in (1, 2, 3)]
    tournament = factories.planned(3, agents=agents, game="kuhn_poker_3", board="three")
    boards.play_some(tournament, 3, lambda row: factories.result(row, ranks=ranks))
    match = Match.objects.earliest("pk")
    assert [seat["result"] for seat in list_seats(match, game="kuhn_poker_3")] == results
    for address in ("/leaderboards/three/", f"/agents/{agents[0].pk}/"):
        page = get_page(client, address)
        assert "1st / =1st / lower" in page
        assert "W / D / L" not in page.partition("<caption>Those with most matches")[0]


def test_seats_of_a_game_whose_file_is_gone_are_still_shown(client: Client, played: Match) -> None:
    assert [seat["team"] for seat in list_seats(played, game="gone")] == [None, None]
