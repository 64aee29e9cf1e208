"""Battles in words: each kind of line, amounts, names of both sides, and how teams stand."""

from collections.abc import Sequence
from typing import Any

import pytest

from arena.games.catalog.showdown_gen1random import GAME
from arena.games.showdown.rules import Battle
from arena.games.showdown.words import tell_battle, tell_turn
from tests.catalogs import needs_simulator


def pokemon(name: str, **changed: object) -> dict[str, Any]:
    plain = {"name": name, "hp": 1, "hp_text": "100 %", "status": "", "boosts": {}, "effects": []}
    return {**plain, "is_active": False, "has_fainted": False, **changed}


def view(*lines: str, turn: int = 12, theirs: str = "Golem", **before: str) -> dict[str, Any]:
    sides = [
        {"left": 6, "size": 1, "pokemon": [pokemon("Starmie")]},
        {"left": 6, "size": 6, "pokemon": [pokemon(theirs)]},
    ]
    hp = {"p1: Starmie": "300/300", f"p2: {theirs}": "63/100 par", **before}
    return {"turn": turn, "sides": sides, "lines": lines, "before": hp}


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["|switch|p1a: Starmie|Starmie, L68|241/241"], "Seat 0 sent out Starmie."),
        (["|drag|p2a: Golem|Golem, L74|100/100"], "Seat 1 sent out Golem."),
        (["|move|p1a: Starmie|Surf|p2a: Golem"], "Starmie used Surf."),
        (["|move|p1a: Starmie|Wrap|p2a: Golem|[from] Wrap"], "Starmie used Wrap."),
        (
            ["|move|p1a: Starmie|Surf|p2a: Golem|[from] move: Metronome"],
            "Starmie used Surf, called by Metronome.",
        ),
        (["|-crit|p2a: Golem"], "It was a critical hit."),
        (["|-supereffective|p2a: Golem"], "It was super effective."),
        (["|-resisted|p2a: Golem"], "It was not very effective."),
        (["|-immune|p2a: Golem"], "It does not affect Golem."),
        (["|-miss|p1a: Starmie"], "Starmie missed."),
        (["|-fail|p2a: Golem|par"], "It failed."),
        (["|-hitcount|p2a: Golem|3"], "It hit 3 times."),
        (["|-mustrecharge|p1a: Starmie"], "Starmie must recharge."),
        (["|-prepare|p1a: Starmie|Dig"], "Starmie prepares Dig."),
        (["|-transform|p1a: Starmie|p2a: Golem"], "Starmie turned into Golem."),
        (["|-damage|p2a: Golem|40/100 par"], "Golem lost 23 %."),
        (["|-damage|p2a: Golem|62.7/100"], "Golem lost 1 %."),
        (["|-damage|p1a: Starmie|282/300 psn|[from] psn"], "Starmie lost 6 % by poison."),
        (["|-damage|p1a: Starmie|282/300|[from] Leech Seed|[of] p2a: Golem"],
         "Starmie lost 6 % by Leech Seed."),
        (["|-heal|p2a: Golem|93/100|[silent]"], "Golem recovered 30 %."),
        (["|-heal|p2a: Golem|93/100|[from] drain"], "Golem recovered 30 % by draining."),
        (["|-sethp|p2a: Golem|63/100"], ""),
        (["|-damage|p2a: Golem|0 fnt", "|faint|p2a: Golem"], "Golem lost 63 % and fainted."),
        (["|-damage|p2a: Golem|0 fnt", "|faint|p1a: Starmie"], "Golem lost 63 %. Starmie fainted."),
        (["|move|p1a: Starmie|Surf|p2a: Golem", "|faint|p2a: Golem"],
         "Starmie used Surf. Golem fainted."),
        (["|faint|p2a: Golem"], "Golem fainted."),
        (["|cant|p2a: Golem|par"], "Golem is paralysed and cannot move."),
        (["|cant|p2a: Golem|slp"], "Golem is asleep."),
        (["|cant|p2a: Golem|recharge"], "Golem has to recharge."),
        (["|cant|p2a: Golem|Disable|Surf"], "Golem cannot use Surf, which is disabled."),
        (["|cant|p2a: Golem|whim"], "Golem cannot move."),
        (["|-status|p2a: Golem|slp|[from] move: Sing"], "Golem fell asleep."),
        (["|-status|p2a: Golem|tox"], "Golem was badly poisoned."),
        (["|-status|p2a: Golem|psn|[silent]"], ""),
        (["|-curestatus|p2a: Golem|slp|[msg]"], "Golem woke up."),
        (["|-curestatus|p2a: Golem|par"], "Golem is no longer paralysed."),
        (["|-curestatus|p2a: Golem|par|[silent]"], ""),
        (["|-boost|p2a: Golem|spa|2", "|-boost|p2a: Golem|spd|2"], "Special of Golem rose by 2."),
        (["|-boost|p2a: Golem|atk|0"], "Attack of Golem does not change."),
        (["|-unboost|p2a: Golem|accuracy|1"], "Accuracy of Golem fell by 1."),
        (["|-start|p2a: Golem|Substitute"], "Golem made a substitute."),
        (["|-start|p2a: Golem|confusion|[silent]"], ""),
        (["|-start|p2a: Golem|move: Leech Seed"], "Golem was seeded."),
        (["|-start|p2a: Golem|Mimic|Surf"], "Golem learned Surf by Mimic."),
        (["|-start|p2a: Golem|Reflect"], "Golem has Reflect."),
        (["|-end|p2a: Golem|Substitute"], "The substitute of Golem broke."),
        (["|-end|p2a: Golem|Mist"], "Mist of Golem ended."),
        (["|-activate|p2a: Golem|Substitute|[damage]"], "The substitute of Golem took the hit."),
        (["|-activate|p2a: Golem|move: Haze"], "All changes of stats were undone."),
        (["|-activate|p2a: Golem|Spirit"], "Spirit of Golem works."),
        (["|-clearallboost|[silent]"], ""),
        (["|-message|It is turn 1000. You have hit the turn limit!"],
         "It is turn 1000. You have hit the turn limit!"),
        (["|-message|Sleep Clause activated"], "Sleep Clause activated."),
        (["|-hint|In Gen 1, this is so."], ""),
        (["|", "|upkeep", "|gen|1", "|player|p1|Seat 0||"], ""),
        (["|win|Seat 1"], "Seat 1 has won."),
        (["|tie"], "It is a tie."),
    ],
)  # fmt: skip
def test_each_kind_of_line_is_told(lines: Sequence[str], sentence: str) -> None:
    assert " ".join(tell_turn(view(*lines))) == (f"Turn 12. {sentence}" if sentence else "")


def test_what_led_to_a_turn_belongs_to_the_one_before() -> None:
    lines = ("|move|p1a: Starmie|Surf|p2a: Golem", "|turn|13")
    assert tell_turn(view(*lines, turn=13)) == ["Turn 12.", "Starmie used Surf."]
    entry = ("|switch|p1a: Starmie|Starmie, L68|241/241", "|turn|1")
    assert tell_turn(view(*entry, turn=1)) == ["Seat 0 sent out Starmie."]


def test_pokemon_of_both_sides_are_told_apart_by_their_seats() -> None:
    events = tell_turn(view("|move|p2a: Starmie|Surf|p1a: Starmie", "|-damage|p1a: Starmie|0 fnt",
                          "|faint|p1a: Starmie", theirs="Starmie"))  # fmt: skip
    assert events[1:] == ["Seat 1's Starmie used Surf.", "Seat 0's Starmie lost 100 % and fainted."]


def test_the_end_comes_first() -> None:
    words = tell_battle(view("|faint|p2a: Golem", "|win|Seat 0"))
    assert words.startswith("The battle is over: seat 0 has won. Turn 12. Golem fainted. Seat 0 ")
    assert tell_battle(view("|tie")).startswith("The battle is over: it is a tie. Turn 12. Seat 0")


def test_how_the_teams_stand_is_told_with_all_that_is_known() -> None:
    battle = view(turn=3)
    battle["sides"][0]["pokemon"] = [
        pokemon("Onix", has_fainted=True),
        pokemon("Starmie", is_active=True, status="brn", boosts={"spa": 2, "spd": 2, "spe": -1},
                effects=["substitute", "residualdmg", "leech_seed"]),
    ]  # fmt: skip
    battle["sides"][0]["size"] = 2
    assert tell_battle(battle) == (
        "Now it is turn 3. Seat 0 has 6 left: Starmie is out with 100 % HP, burned, Special +2, "
        "Speed -1, substitute, seeded; Onix, fainted. "
        "Seat 1 has 6 left: Golem with 100 % HP; 5 not seen yet."
    )


@needs_simulator
def test_a_turn_is_told_once_and_in_the_figures_that_its_reader_has() -> None:
    battle = GAME.start(7, opening_plies=0)
    assert isinstance(battle, Battle)
    sentences = {}
    for action in (6, 2):  # Paras comes in for Raichu, Slowpoke uses Psychic
        sentences[len(battle.actions)] = battle.tell_events(1)
        battle.apply(action)
    assert sentences == {0: ["Seat 0 sent out Raichu.", "Seat 1 sent out Slowpoke."], 1: []}
    happened = "Seat 0 sent out Paras. Slowpoke used Psychic. Paras lost {} %."
    assert " ".join(battle.tell_events()).startswith(f"Turn 1. {happened.format(30)}")
    assert battle.describe(0).startswith(f"Turn 1. {happened.format(30)}")
    assert "Paras with 171/246 HP" in battle.describe(0).replace(" is out", "")
    assert "Paras with 70 % HP" in battle.describe(1).replace(" is out", "")
