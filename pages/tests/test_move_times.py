"""Times and values of moves on the page of a match and in its files."""

import re
from typing import Any

import pytest
from django.test import Client
from redis import Redis

from arena.move_notes import MoveNote, note_time, note_value, pack_notes
from matches.models import Match, Outcome
from matches.store.formats import format_brief
from matches.tests import boards
from pages import notation, values
from pages.replays import Move
from pages.tests.test_notation import HEADING, _replay
from pages.tests.test_replays import _played

pytestmark = pytest.mark.django_db


@pytest.fixture
def match(broker: Redis) -> Match:
    """Return a match with notes: 2 ms the first move, 4 ms the second ...; seat 0 says values."""
    tournament = boards.planned_board(n_matches=42)
    boards.play_some(tournament, 2, boards.by_strength(forfeits=0))
    recorded = _played("connect_four")
    Match.objects.update(game_seed=recorded.game_seed)
    n_moves = len(recorded.actions.split())
    notes = [note_time(0.002 * (n + 1)) for n in range(n_moves)]
    for n in range(0, n_moves, 2):
        notes[n] += note_value(0.5)
    Outcome.objects.update(actions=recorded.actions, notes=pack_notes(notes))
    return Match.objects.filter(outcome__isnull=False).earliest("pk")


def _get(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return " ".join(response.content.decode().split())


def test_the_page_has_the_time_and_the_value_of_each_move_and_the_sum_of_each_seat(
    client: Client, match: Match
) -> None:
    page = _get(client, f"/matches/{match.pk}/?step=1")
    n_moves = len(match.outcome.actions.split())
    assert page.count('title="time of this move"') == n_moves
    assert re.search(r" in 2(\.\d)? ms, expecting \+0\.50\.", page)
    assert '<path class="fill-yellow"' in page
    assert '<path class="fill-red"' in page
    assert f"for {n_moves // 2} moves, the slowest" in page
    assert 'class="line-of-0 line-yellow"' in page, "the curve of who said values"
    assert 'class="line-of-1' not in page
    # A value stands where its move ends: the axis begins before the first.
    assert f"<span>start</span><span>move {n_moves}</span>" in page
    assert "ms on average" not in page


def test_each_frame_says_the_time_of_its_move(client: Client, match: Match) -> None:
    frames = client.get(f"/matches/{match.pk}/frames/").json()["frames"]
    assert " in " not in frames[0]["said"]
    assert " in 4 ms" in frames[2]["said"]
    assert "expecting" not in frames[2]["said"]


def test_a_match_of_before_times_were_kept_shows_none(client: Client, match: Match) -> None:
    Outcome.objects.update(notes=None)
    page = _get(client, f"/matches/{match.pk}/")
    assert "Time of each move" not in page
    assert "ms on average" in page


def test_notes_that_do_not_fit_the_moves_are_not_shown(client: Client, match: Match) -> None:
    Outcome.objects.update(notes=b"123")
    assert "Time of each move" not in _get(client, f"/matches/{match.pk}/")


def test_a_copy_shows_the_times_of_the_game_that_was_played(client: Client, match: Match) -> None:
    copy = Match.objects.filter(outcome__isnull=False).latest("pk")
    assert copy.pk != match.pk
    Match.objects.filter(pk=copy.pk).update(same_as=match)
    Outcome.objects.filter(pk=copy.pk).update(notes=None)
    page = _get(client, f"/matches/{copy.pk}/")
    assert f'Measured when <a href="/matches/{match.pk}/">the same game</a> was played.' in page
    Outcome.objects.filter(pk=copy.pk).update(actions="0 1")
    assert "Time of each move" not in _get(client, f"/matches/{copy.pk}/"), "another game"


def test_times_cost_no_query(client: Client, match: Match, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(8):
        _get(client, f"/matches/{match.pk}/")
    with django_assert_num_queries(3):
        _get(client, f"/matches/{match.pk}/frames/")


def test_the_json_file_has_them_as_numbers_or_null(client: Client, match: Match) -> None:
    moves = client.get(f"/matches/{match.pk}/download.json").json()["moves"]
    assert moves[0]["took_s"] == pytest.approx(0.002, rel=0.05)
    assert [move["value"] for move in moves[:3]] == [0.5, None, 0.5]
    Outcome.objects.update(notes=None)
    moves = client.get(f"/matches/{match.pk}/download.json").json()["moves"]
    assert {(move["took_s"], move["value"]) for move in moves} == {(None, None)}


def test_pgn_has_the_time_of_each_move_as_chess_programs_read_it() -> None:
    replay = _replay("chess")
    notes = {move.number: MoveNote(3661.5, None) for move in replay.moves[1:]}
    text = notation.write_pgn(replay, HEADING, notes)
    assert text.count("{[%emt 1:01:01.500]}") == len(replay.moves) - 1
    first, second = replay.moves[:2]
    assert max(map(len, text.splitlines())) <= 79
    text = " ".join(text.split())
    assert f"{first.name} " in text.split("{[%emt")[0]
    assert f"{second.name} {{[%emt 1:01:01.500]}}" in text


@pytest.mark.parametrize(
    ("seconds", "clock"), [(0.0001, "0:00:00.000"), (59.9996, "0:01:00.000"), (7322, "2:02:02.000")]
)
def test_a_clock_never_shows_sixty(seconds: float, clock: str) -> None:
    assert notation.format_clock(seconds) == clock


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1e-7, "1 µs"),
        (42e-6, "42 µs"),
        (525e-6, "520 µs"),
        (0.00123, "1.2 ms"),
        (0.01234, "12 ms"),
        (0.996, "1 s"),
        (9.96, "10 s"),
        (61, "61 s"),
        (36.819, "37 s"),
        (600, "10 min"),
    ],
)
def test_a_time_is_written_with_two_figures(seconds: float, text: str) -> None:
    assert format_brief(seconds) == text


def test_bars_stand_as_high_as_their_time_and_none_is_too_low_to_be_seen() -> None:
    moves = [Move(n, (n - 1) % 2, "x", 0) for n in (1, 2, 3, 4)]
    notes = {n: MoveNote(took_s, None) for n, took_s in ((1, 1.0), (2, 0.5), (3, 1e-5))}
    bars = values.draw_times(notes, moves)
    assert bars
    assert [(seat.n_moves, seat.total, seat.slowest_number) for seat in bars.seats] == [
        (2, "1 s", 1),
        (1, "500 ms", 2),
    ]
    assert "V20h" in bars.seats[0].path
    assert "V89h" in bars.seats[0].path
    assert "V55h" in bars.seats[1].path
    assert values.draw_times({}, moves) is None
