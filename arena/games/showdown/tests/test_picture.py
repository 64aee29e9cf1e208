"""Battles drawn: bars, six cards a side, and nothing of what a seat has not seen."""

from typing import Any

import pytest

from arena.games.pictures import Line, Rect, Text, check_picture
from arena.games.showdown.picture import draw_battle
from arena.games.showdown.tests.test_words import pokemon, view


def make_battle(**changed: object) -> dict[str, Any]:
    move = {"name": "Surf", "type": "Water", "power": 95}
    shape = {"level": 68, "types": ["Water", "Psychic"], "is_active": True}
    one = pokemon(
        "Starmie", **{**shape, "moves": [{**move, "left": 3, "most": 24}, move], **changed}
    )
    battle = view(turn=9)
    for side in battle["sides"]:
        side["pokemon"] = [one, {**one, "name": "Onix", "is_active": False}]
    battle["sides"][1]["size"] = 6
    return battle


def texts(battle: dict[str, Any]) -> list[str]:
    shapes = check_picture(draw_battle(battle)).shapes
    return [shape.text for shape in shapes if isinstance(shape, Text)]


def test_what_is_not_seen_yet_is_drawn_as_unknown() -> None:
    drawn = texts(make_battle())
    assert drawn.count("not seen yet") == 4
    assert drawn.count("move not seen yet") == 4
    assert drawn.count("no Pokemon") == 4
    assert {"Turn 9", "Starmie  L68", "Psychic", "Water, 3 of 24", "Water"} <= set(drawn)


def test_a_side_whose_pokemon_has_just_fainted_has_nobody_out() -> None:
    assert texts(make_battle(is_active=False)).count("nobody is out") == 2
    assert "nobody is out" not in texts(make_battle())


def test_status_boosts_and_effects_are_named() -> None:
    drawn = texts(
        make_battle(status="par", boosts={"atk": 2}, effects=["substitute"], hp_text="50 %")
    )
    assert {"50 % PAR", "Attack +2", "substitute"} <= set(drawn)


@pytest.mark.parametrize(("hp", "tint"), [(0.9, "green"), (0.4, "yellow"), (0.1, "red"), (0, "")])
def test_a_bar_is_as_long_as_its_hp_and_says_by_colour_when_it_is_low(hp: float, tint: str) -> None:
    bars = [shape for shape in draw_battle(make_battle(hp=hp)).shapes
            if isinstance(shape, Rect) and shape.height == 6 and shape.width != 4]  # fmt: skip
    full, left = bars[0], bars[1] if hp else None
    assert (left.tint if left and left.tint != "line" else "") == tint
    assert not hp or (left is not None and left.width == pytest.approx(full.width * hp))


def test_who_has_fainted_is_struck_out_and_a_spent_move_is_pale() -> None:
    spent = {"name": "Surf", "type": "Water", "power": 95, "left": 0, "most": 24}
    shapes = draw_battle(make_battle(has_fainted=True, moves=[spent])).shapes
    assert sum(isinstance(shape, Line) for shape in shapes) == 4
    assert all(shape.tint == "muted" for shape in shapes
               if isinstance(shape, Text) and shape.text == "Surf")  # fmt: skip


def test_long_words_get_small_letters() -> None:
    boosts = {"atk": 6, "def": 6, "spa": 6, "spe": 6, "accuracy": -6, "evasion": 6}
    shapes = draw_battle(make_battle(boosts=boosts)).shapes
    longest = max((shape for shape in shapes if isinstance(shape, Text)), key=lambda t: len(t.text))
    assert longest.size * 0.5 * len(longest.text) < 100
