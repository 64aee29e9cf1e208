"""Replays and drawings: every position of every game, and what does not fit the rules."""

from html.parser import HTMLParser
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from arena.games import registry as games
from arena.games.base import OVER
from arena.games.pictures import Circle, Line, Picture, Polygon, Rect, Text
from arena.games.showdown.rules import Battle
from pages import drawings, replays
from pages.replays import RecordedMatch, Replay
from tests.catalogs import each_game, needs_simulator


def _played(game: str, *, seed: int = 7, most: int = 150) -> RecordedMatch:
    rules, rng = games.get(game), Random(seed)
    state = rules.start(seed, opening_plies=rules.spec.opening_plies)
    while state.to_move() != OVER and len(state.actions) < most:
        state.apply(rng.choice(list(state.legal_actions())))
    return RecordedMatch(game, {}, None, seed, " ".join(map(str, state.actions)))


@each_game(sorted(games.names()), "game")
def test_every_move_of_a_game_can_be_shown(game: str) -> None:
    recorded = _played(game)
    replay = replays.replay_match(recorded)
    assert replay.problem == ""
    assert replay.last_step == len(recorded.actions.split())
    assert len(replay.opening) == games.get(game).spec.opening_plies
    assert sorted(replay.frames) == list(range(replay.last_step + 1))
    assert [move.number for move in replay.moves] == list(range(1, replay.last_step + 1))


def _new_marks(replay: Replay, step: int) -> list[str]:
    return [shape for shape in replay.frames[step].views[0].shapes if "fill-new" in shape]


@each_game(sorted(games.names()), "game")
def test_every_position_of_every_game_is_drawn(game: str) -> None:
    replay = replays.replay_match(_played(game))
    for frame in replay.frames.values():
        for view in frame.views:
            assert view.box.startswith("0 0 ")
            assert view.shapes


def test_the_passenger_of_the_taxi_is_seen_on_every_colour() -> None:
    frames = replays.replay_match(_played("taxi")).frames
    edged = [
        shape for shape in frames[0].views[0].shapes if "text-white" in shape and ">P<" in shape
    ]
    assert len(edged) == 1
    assert ">goal<" in "".join(frames[0].views[0].shapes)


@pytest.mark.parametrize("game", ["tic_tac_toe", "connect_four", "hex", "breakthrough", "chess"])
def test_what_is_new_is_marked(game: str) -> None:
    replay = replays.replay_match(_played(game))
    has_moving_pieces = game in ("breakthrough", "chess")
    assert not _new_marks(replay, 0)
    for step in range(1, replay.last_step):  # at the end the winning line may cover it
        assert len(_new_marks(replay, step)) >= 1 + has_moving_pieces


@pytest.mark.parametrize(
    ("game", "actions", "n_winning"),
    [
        ("connect_four", "0 1 0 1 0 1 0", 4),
        ("tic_tac_toe", "0 3 1 4 2", 3),
        ("hex", "0 1 3 4 6", 3),
    ],
)
def test_the_winning_line_is_marked(game: str, actions: str, n_winning: int) -> None:
    parameters = {"board_size": 3} if game == "hex" else {}
    replay = replays.replay_match(RecordedMatch(game, parameters, 0, 1, actions))
    marks = [sum("fill-win" in shape for shape in replay.frames[n].views[0].shapes)
             for n in (replay.last_step - 1, replay.last_step)]  # fmt: skip
    assert marks == [0, n_winning]


def test_only_the_positions_that_were_asked_for_are_drawn() -> None:
    recorded = _played("othello")
    every, one = replays.replay_match(recorded), replays.replay_match(recorded, steps=(4, 5))
    assert sorted(one.frames) == [4, 5, one.last_step]
    assert one.frames[5] == every.frames[5]
    assert len(every.frames) == every.last_step + 1


def test_white_moves_first_in_chess_from_seat_1() -> None:
    replay = replays.replay_match(RecordedMatch("chess", {}, 0, 1, "89"))
    assert replay.moves[0].seat == 1
    assert [side.name for side in replay.sides] == ["black", "white"]
    assert replay.frames[1].views[0].words.startswith("Black is to move.")


def test_each_seat_of_a_game_with_hidden_cards_has_its_own_view() -> None:
    everything, *seats = replays.replay_match(_played("kuhn_poker_3")).frames[0].views
    assert len(seats) == len({view.words for view in seats}) == 3
    n_backs = [sum("fill-back" in shape for shape in view.shapes) for view in (everything, *seats)]
    assert n_backs == [0, 2, 2, 2]
    assert len(replays.replay_match(_played("chess")).frames[0].views) == 1


class Elements(HTMLParser):
    """Collects the elements and the words of some markup."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_words_of_a_drawing_are_no_markup() -> None:
    evil = '</text><script>alert("1")</script>'
    elements = Elements(drawings.draw_shape(Text(1, 1, evil, 3)))
    assert elements.tags == ["text"]
    assert "".join(elements.words) == evil


def test_shapes_of_equal_numbers_are_told_apart() -> None:
    numbers = (1, 2, 3, 4, "red", 1)
    drawn = [drawings.draw_shape(kind(*numbers)) for kind in (Rect, Line)]
    assert [text.partition(" ")[0] for text in drawn] == ["<rect", "<line"]


class Lying:
    """A game whose drawing is not what it must be, and which is right in all else."""

    def __init__(self, picture: Any) -> None:
        self._game = games.get("tic_tac_toe")
        self._picture = picture

    def __getattr__(self, name: str) -> Any:
        return getattr(self._game, name)

    def configured(self, parameters: object) -> "Lying":
        del parameters
        return self

    def picture(self, state: object, seat: object) -> Any:
        del state, seat
        if isinstance(self._picture, Exception):
            raise self._picture
        return self._picture


@pytest.mark.parametrize(
    "picture",
    [
        "<svg onload=alert(1)>",
        Picture(10, 10, (Circle(1, 1, 1, '"><script>'),)),
        Picture(10, 10, (Circle(float("nan"), 1, 1, "red"),)),
        Picture(10, 10, ("<circle/>",)),  # type: ignore[arg-type]
        Picture(0, 10, ()),
        Picture(10, 10, (Text(1, 1, "a" * 1_000, 3),)),
        Picture(10, 10, (Circle(1, 1, 1, "red"),) * 5_000),
        Picture(10, 10, (Polygon([(1, 1), (2, 2), (3, 1)], "red"),)),  # type: ignore[arg-type]
        Picture(10, 10, (Polygon(((1, 1, 1), (2, 2, 2)), "red"),)),  # type: ignore[arg-type]
        Picture(10, 10, (Polygon(((1, 1),) * 100_000, "red"),)),
        ZeroDivisionError("by zero"),
    ],
)
def test_a_drawing_that_cannot_be_shown_is_told_in_words(
    picture: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = Lying(picture)
    monkeypatch.setattr(games, "get", lambda _: liar)
    replay = replays.replay_match(RecordedMatch("tic_tac_toe", {}, 0, 1, "0 1"))
    assert replay.problem.startswith("its game cannot draw it: ")
    assert replay.last_step == 2
    assert all(not view.shapes and view.words for view in replay.frames[2].views)


def test_a_plug_in_of_before_words_were_asked_for_is_still_shown() -> None:
    state: Any = SimpleNamespace(actions=[3, 1], legal_actions=lambda: [1, 2])
    teller = replays.Teller("one of before")
    assert teller.describe_state(state, None) == "2 moves were made."
    assert teller.name_action(state, 1) == "action 1"


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        ("0 9", "move 2 does not fit the rules"),
        ("0 x", "move 2 is no number: 'x'"),
        ("0 1,2", "move 2 is no number: '1,2'"),
        ("0 99999999999999999999", "move 2 is no number"),
    ],
)
def test_moves_that_cannot_be_played_end_the_replay_in_words(actions: str, words: str) -> None:
    replay = replays.replay_match(RecordedMatch("connect_four", {}, 0, 1, actions))
    assert words in replay.problem
    assert replay.last_step == 1


def test_a_very_long_match_is_shown_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "MAX_STEPS", 3)
    replay = replays.replay_match(_played("othello", most=10))
    assert (replay.last_step, replay.problem[:12]) == (3, "7 more moves")


@pytest.mark.parametrize(
    "recorded",
    [
        RecordedMatch("no_such_game", {}, 0, 1, "0"),
        RecordedMatch("hex", {"board_size": "large"}, 0, 1, "0"),
        RecordedMatch("tic_tac_toe", {}, 9, 1, "0"),
    ],
)
def test_what_cannot_start_says_why(recorded: RecordedMatch) -> None:
    replay = replays.replay_match(recorded)
    assert (replay.frames, replay.last_step) == ({}, -1)
    assert replay.problem


@pytest.mark.parametrize("method", ["describe", "action_name"])
def test_a_plug_in_that_fails_is_named_and_its_actions_are_shown_bare(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fail(*_: object) -> str:
        raise ZeroDivisionError("a fault of its author")

    recorded = _played("tic_tac_toe")
    monkeypatch.setattr(type(games.get("tic_tac_toe").start(7, opening_plies=0)), method, fail)
    replay = replays.replay_match(recorded)
    assert replay.problem == (
        f"the plug-in of the game tic_tac_toe failed in {method}(): "
        "ZeroDivisionError: a fault of its author"
    )
    assert replay.last_step == len(recorded.actions.split()), "it is still stepped to its end"
    if method == "action_name":
        assert [move.name for move in replay.moves] == [
            f"action {action}" for action in recorded.actions.split()
        ]
    else:
        assert replay.frames[2].views[0].words == "2 moves were made."


def test_long_words_of_a_plug_in_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    state = type(games.get("tic_tac_toe").start(7, opening_plies=0))
    for method in ("describe", "action_name"):
        monkeypatch.setattr(state, method, lambda *_: "x" * 10**6)
    replay = replays.replay_match(_played("tic_tac_toe"))
    assert len(replay.frames[1].views[0].words) <= replays.MAX_WORDS
    assert len(replay.moves[0].name) <= replays.MAX_NAME


@pytest.mark.parametrize("method", ["apply", "to_move"])
def test_a_plug_in_that_cannot_be_played_again_is_named(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError("a fault of its author")

    recorded = _played("tic_tac_toe")
    monkeypatch.setattr(type(games.get("tic_tac_toe").start(7, opening_plies=0)), method, fail)
    replay = replays.replay_match(recorded)
    assert replay.last_step == -1
    assert replay.problem == (
        "the plug-in of the game tic_tac_toe failed: ZeroDivisionError: a fault of its author"
    )


def test_a_match_of_another_version_of_the_rules_says_so() -> None:
    recorded = _played("tic_tac_toe")
    here = games.get("tic_tac_toe").spec.rules_version
    assert replays.replay_match(recorded._replace(rules_version=here)).problem == ""
    other = replays.replay_match(recorded._replace(rules_version=here + 1))
    assert other.problem.startswith(f"it was played by version {here + 1} of the rules, which ")
    assert other.last_step == len(recorded.actions.split()), "it is shown all the same"


def test_where_a_battle_cannot_be_played_its_moves_are_numbers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EVALSITE_SHOWDOWN", str(tmp_path))
    monkeypatch.setattr(games.get("showdown_gen1ou").rules, "_driver", None)  # type: ignore[attr-defined]
    replay = replays.replay_match(RecordedMatch("showdown_gen1ou", {}, None, 7, "1 0 4"))
    assert replay.last_step == -1
    assert "./run tools install showdown" in replay.problem
    assert replay.problem.endswith("; the moves were: 1, 0, 4")


@needs_simulator
def test_a_simulator_that_dies_ends_one_replay_and_the_next_starts_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded, rules = _played("showdown_gen1random", most=6), games.get("showdown_gen1random").rules  # type: ignore[attr-defined]
    apply = Battle.apply

    def kill_it(battle: Battle, action: int) -> None:
        if len(battle.actions) == 3:
            rules._driver._process.kill()
            rules._driver._process.wait()
        apply(battle, action)

    with monkeypatch.context() as patch:
        patch.setattr(Battle, "apply", kill_it)
        replay = replays.replay_match(recorded)
    assert (replay.last_step, replay.problem[:41]) == (
        3,
        "move 4 could not be played again, reload ",
    )
    assert "the simulator has ended" in replay.problem
    assert replays.replay_match(recorded).problem == ""


@needs_simulator
def test_what_happened_in_a_battle_is_told_once() -> None:
    replay = replays.replay_match(_played("showdown_gen1random", most=12))
    events = [frame.views[0].events for frame in replay.frames.values()]
    has_events = [bool(each) for each in events]
    assert replay.has_events
    assert events[0][0].startswith("Seat 0 sent out ")
    # After the choice of seat 0 alone nothing has happened.
    alone = [move.number for move in replay.moves[:2] if move.seat == 0]
    assert alone == [1]
    assert has_events[:3] == [True, False, True]
    assert events[2][0] == "Turn 1."


def test_events_of_a_plug_in_that_fail_are_said_once() -> None:
    class Failing:
        def tell_events(self, seat: int | None) -> list[str]:
            raise ZeroDivisionError(seat)

    teller = replays.Teller("a game")
    state: Any = Failing()
    assert teller.tell_events(state, 0) == []
    assert "failed in tell_events(): ZeroDivisionError: 0" in teller.problem
