"""Battles in this process: seats, actions, ends, what is hidden, and a driver that fails."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest

from arena.errors import IllegalActionError, ParameterError, UnsupportedGameError
from arena.games.base import OVER, replay
from arena.games.catalog import showdown_gen1ou, showdown_gen1random
from arena.games.showdown import driver, game, layout
from arena.games.showdown.driver import Driver
from arena.games.showdown.installed import (
    DEFAULT_FOLDER,
    VARIABLE,
    find_folder,
    find_node,
    find_version,
    is_playable,
    name_package,
)
from arena.games.showdown.rules import Battle, Rules
from arena.games.showdown.sight import look
from tests.catalogs import needs_simulator

RANDOM, OU = showdown_gen1random.GAME, showdown_gen1ou.GAME


def play(battle: Battle, seed: int) -> None:
    rng = Random(seed)
    while battle.to_move() != OVER:
        battle.apply(rng.choice(list(battle.legal_actions())))


def start(seed: int) -> Battle:
    battle = RANDOM.start(seed, opening_plies=0)
    assert isinstance(battle, Battle)
    return battle


@needs_simulator
def test_seats_choose_in_turn_and_the_second_sees_nothing_of_the_first() -> None:
    one, other = start(5), start(5)
    before = one.observation(1)
    one.apply(one.legal_actions()[0])
    other.apply(other.legal_actions()[-1])
    assert (one.to_move(), other.to_move()) == (1, 1)
    assert np.array_equal(one.observation(1), before)
    assert np.array_equal(other.observation(1), before)
    assert one.describe(1) == other.describe(1)


@needs_simulator
def test_a_battle_ends_with_a_winner_and_the_same_again_from_its_actions() -> None:
    battle = start(5)
    play(battle, 1)
    assert sorted(battle.returns()) == [-1.0, 1.0]
    again = replay(RANDOM, 5, battle.actions, opening_plies=0)
    assert isinstance(again, Battle)
    assert again.returns() == battle.returns()
    assert again.write_log() == battle.write_log()
    log, choices = battle.write_log()
    assert log[-1].startswith("|win|Seat ")
    assert choices[0].startswith(">start ")
    assert not any(line.startswith("|t:|") for line in log), "a time is no part of a battle"


@needs_simulator
def test_teams_and_dice_follow_from_the_seed() -> None:
    texts = {seed: start(seed).describe() for seed in (1, 2, 2**62)}
    assert len(set(texts.values())) == len(texts)
    assert start(2**62).describe() == texts[2**62]


@needs_simulator
def test_two_who_only_switch_reach_the_turn_limit_and_tie() -> None:
    battle = OU.start(3, opening_plies=0)
    assert isinstance(battle, Battle)
    while battle.to_move() != OVER:
        battle.apply(battle.legal_actions()[-1])
    assert battle.returns() == [0.0, 0.0]
    # The last one switches in until nobody else can: both always have somebody to switch to.
    assert 2_000 <= len(battle.actions) <= game.MAX_STEPS
    assert "turn limit" in "".join(battle.write_log()[0])


@needs_simulator
def test_what_is_no_action_is_refused_and_changes_nothing() -> None:
    battle = start(5)
    # The Pokemon that is out can neither leave for itself nor be ordered about by place.
    for action in (layout.N_MOVES, 10, -1, True, 0.0):
        with pytest.raises(IllegalActionError):
            battle.apply(action)  # type: ignore[arg-type]
    assert battle.actions == []
    with pytest.raises(IllegalActionError, match="4 is not in"):
        battle._ask("act", step=0, action=4)


@needs_simulator
def test_an_opening_and_a_parameter_are_refused() -> None:
    with pytest.raises(ParameterError, match="opening_plies"):
        RANDOM.start(1, opening_plies=2)
    with pytest.raises(ParameterError, match="weather"):
        RANDOM.configured({"weather": "rain"})
    assert RANDOM.configured({}).parameters == {}


@needs_simulator
def test_both_seats_see_the_same_battle_from_their_own_side() -> None:
    battle = start(5)
    own = [look(battle, seat) for seat in (0, 1)]
    for seat in (0, 1):
        assert own[seat].of("own_pokemon", "is_known").sum() == layout.N_POKEMON
        assert own[seat].of("their_pokemon", "is_known").sum() == 1, "only who is out"
        assert own[seat].hp("own_pokemon") == own[1 - seat].hp("their_pokemon") == 1.0
        assert own[seat].of("their_move", "is_known").sum() == 0


def test_a_driver_that_was_not_installed_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(UnsupportedGameError, match="tools install showdown") as caught:
        Rules(RANDOM.spec, RANDOM.command).start(1, opening_plies=0)
    assert str(tmp_path) in str(caught.value)


def test_the_package_is_looked_for_in_the_data_folder_first(tmp_path: Path) -> None:
    assert find_folder({VARIABLE: "/elsewhere"}) == Path("/elsewhere")
    assert find_folder({"EVALSITE_VAR": str(tmp_path)}) == DEFAULT_FOLDER
    folder = tmp_path / "tools" / "showdown"
    folder.mkdir(parents=True)
    assert find_folder({"EVALSITE_VAR": str(tmp_path)}) == folder
    assert not is_playable({"EVALSITE_VAR": str(tmp_path)})
    assert find_folder({}) == DEFAULT_FOLDER


@pytest.mark.parametrize(
    ("described", "version"),
    [
        ('{"version": "0.10.0"}', "0.10.0"),
        ("{}", None),
        ("[]", None),
        ("half a fi", None),
    ],
)
def test_another_version_of_the_package_is_none_to_play_with(
    tmp_path: Path, described: str, version: str | None
) -> None:
    package = tmp_path / "node_modules" / "pokemon-showdown" / "package.json"
    package.parent.mkdir(parents=True)
    package.write_text(described)
    environ = {VARIABLE: str(tmp_path), "PATH": os.environ["PATH"]}
    assert find_version(environ) == version
    assert not is_playable(environ)
    package.write_text(f'{{"version": "{name_package()}"}}')
    assert is_playable(environ) == (find_node(environ) is not None)


@needs_simulator
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("gen1randombattle", "1", "0.11.10"), "these rules are of 0.11.10: ./run tools install"),
        (("gen1nothing", "1", name_package()), "has no format gen1nothing"),
        (
            ("gen1ou", "1", name_package(), str(game.DRIVER.parent / "teams/gen1ou"), "0" * 64),
            "are not those of x: ./run showdown teams",
        ),
        (("gen1ou", "1", name_package(), str(game.DRIVER.parent), "0" * 64), "no team"),
    ],
)
def test_a_driver_says_in_one_line_why_it_does_not_begin(
    arguments: tuple[str, ...], why: str
) -> None:
    with pytest.raises(UnsupportedGameError, match=why):
        Driver("x", [str(find_node()), str(game.DRIVER), "x", *arguments])


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import time; time.sleep(60)", "has not answered for 0.2 s"),
        ("raise SystemExit('broken')", "broken"),
    ],
)
def test_a_driver_that_hangs_or_dies_is_ended_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, code: str, why: str
) -> None:
    monkeypatch.setattr(driver, "is_playable", lambda: True)
    with pytest.raises(UnsupportedGameError, match=why):
        Driver("x", [sys.executable, "-c", code], answer_s=0.2)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print('hello'); input(); input()", "says nonsense"),
        ('print(\'[{"kind": "state", "episode": 7}]\')', "nonsense: it answers of episode 7"),
    ],
)
def test_a_driver_that_says_nonsense_is_ended(
    monkeypatch: pytest.MonkeyPatch, code: str, why: str
) -> None:
    monkeypatch.setattr(driver, "is_playable", lambda: True)
    with pytest.raises(UnsupportedGameError, match=why):
        Driver("x", [sys.executable, "-c", code])


def test_a_driver_that_has_ended_between_two_questions_tells_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driver, "is_playable", lambda: True)
    ended = Driver("x", [sys.executable, "-c", 'print(\'[{"kind": "hello"}]\')'])
    ended._process.wait()
    with pytest.raises(UnsupportedGameError, match="x: the simulator has ended: status 0"):
        ended.ask({"kind": "start", "episode": 1})


def test_rules_are_those_of_their_game_and_have_no_parameters() -> None:
    rules = Rules(RANDOM.spec, RANDOM.command)
    assert (rules.spec, rules.parameters) == (RANDOM.spec, {})
    assert rules.configured({}) is rules


@needs_simulator
def test_after_a_driver_has_died_the_next_battle_has_a_new_one() -> None:
    fresh = Rules(RANDOM.spec, RANDOM.command)
    battle = fresh.start(5, opening_plies=0)
    assert fresh._driver is not None
    fresh._driver._process.kill()
    for _ in range(2):
        with pytest.raises(UnsupportedGameError, match="has ended"):
            battle.apply(battle.legal_actions()[0])
    assert fresh.start(5, opening_plies=0).to_move() == 0


@needs_simulator
def test_battles_that_begin_at_once_share_a_driver_which_ends_with_its_rules() -> None:
    fresh, n = Rules(RANDOM.spec, RANDOM.command), 3
    with ThreadPoolExecutor(n) as threads:
        battles = list(threads.map(partial(fresh.start, opening_plies=0), range(n)))
    (used,) = {battle._driver for battle in battles if isinstance(battle, Battle)}
    process = used._process
    del battles, used, fresh
    gc.collect()
    assert process.wait(10) == -signal.SIGKILL


@needs_simulator
def test_a_question_that_was_broken_off_leaves_no_answer_to_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fresh = Rules(RANDOM.spec, RANDOM.command)
    battle = fresh.start(5, opening_plies=0)
    assert fresh._driver is not None
    used = fresh._driver
    real = used._send

    def send_and_be_stopped(message: Mapping[str, object]) -> None:
        real(message)
        raise KeyboardInterrupt

    monkeypatch.setattr(used, "_send", send_and_be_stopped)
    with pytest.raises(KeyboardInterrupt):
        battle.apply(battle.legal_actions()[0])
    with pytest.raises(UnsupportedGameError, match="ended by KeyboardInterrupt"):
        battle.observation(1)
    assert fresh.start(5, opening_plies=0).to_move() == 0


@needs_simulator
def test_a_battle_that_nobody_holds_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten_episodes: list[object] = []
    monkeypatch.setattr(
        driver.Driver, "forget", lambda self, episode: forgotten_episodes.append(episode)
    )
    battle = start(5)
    episode = battle._episode
    del battle
    assert forgotten_episodes == [episode]


@needs_simulator
def test_teams_of_texts_have_no_abilities_of_later_generations() -> None:
    for seed in range(12):
        battle = OU.start(seed, opening_plies=0)
        assert isinstance(battle, Battle)
        play(battle, seed)
        log, choices = battle.write_log()
        assert not [line for line in log if "ability" in line]
        assert "NoAbility" in "".join(choices[:3])


@needs_simulator
@pytest.mark.parametrize("players", [("Seat 1", "other"), ("other", "Seat 0")])
def test_an_agent_that_is_called_as_a_seat_wins_only_what_it_has_won(
    players: tuple[str, str],
) -> None:
    battle = start(11)
    play(battle, 4)
    winner = players[list(battle.returns()).index(1)]
    assert f"|win|{winner}" in battle.write_file("log", players).splitlines()


@needs_simulator
def test_its_input_log_is_played_again_by_the_package_to_the_same_end() -> None:
    battle = start(11)
    play(battle, 4)
    players = ("max|damage\nof 2", 'one "quoted"')
    log = battle.write_file("log", players).splitlines()
    program = find_folder() / "node_modules" / "pokemon-showdown" / "pokemon-showdown"
    done = subprocess.run(
        [str(find_node()), str(program), "simulate-battle", "--skip-build", "--replay"],
        input=battle.write_file("inputlog", players),
        capture_output=True,
        text=True,
        check=True,
    )
    again = [line for line in done.stdout.splitlines() if not line.startswith("|t:|")]
    assert log[:4] == again[:4]
    assert [line for line in log if line != "|"] == [
        line for line in again if line not in ("|", "")
    ]
    assert log[-1] in ("|win|max damage of 2", '|win|one "quoted"')
