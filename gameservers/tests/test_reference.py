import json
import subprocess
import sys
from random import Random
from typing import Any

import numpy as np
import pytest

from arena.games import registry
from arena.games.base import OVER
from gameservers import reference, sdk

HELLO = {"kind": "hello", "protocol": 1}


def play_over_line(name: str, rules: Any, seed: int, **more: Any) -> list[Any]:
    """Return what a player sees of an episode, playing by the lowest legal action or a draw."""
    server = sdk.Server(reference.offer_game(name, rules), name="sim-1")
    line, rng, history = sdk.Line(server), Random(seed), list[Any]()
    line.receive(json.dumps([{**HELLO, "game": name}]))
    message: dict[str, Any] = {"kind": "start", "episode": 1, "seed": seed, **more}
    while True:
        ((text, raw),) = line.receive(json.dumps([message]))
        state = json.loads(text)[0]
        if state["kind"] == "error" or state["seat"] == OVER:
            history.append(state.get("returns", state))
            return history
        history.append((state["seat"], state["legal"], raw))
        action = rng.choice(state["legal"])
        message = {"kind": "act", "episode": 1, "step": state["step"], "action": action}


def play_here(rules: Any, seed: int, **more: Any) -> list[Any]:
    state = rules.configured(more.get("parameters", {})).start(
        seed, opening_plies=more.get("opening_plies", 0)
    )
    rng, history = Random(seed), list[Any]()
    while (seat := state.to_move()) != OVER:
        legal = list(state.legal_actions())
        history.append((seat, legal, state.observation(seat).tobytes()))
        state.apply(rng.choice(legal))
    return [*history, list(state.returns())]


@pytest.mark.parametrize("name", ["connect_four", "leduc_poker", "cart_pole", "backgammon"])
def test_a_served_episode_is_the_one_that_is_played_here_to_the_bit(name: str) -> None:
    rules = registry.get(name)
    plies = {"opening_plies": rules.spec.opening_plies}

    for seed in (1, 2, 2**63 - 1):
        assert play_over_line(name, rules, seed, **plies) == play_here(rules, seed, **plies)


def test_parameters_of_a_game_reach_it() -> None:
    rules = registry.get("skill_game")
    parameters = {one.name: one.default for one in rules.spec.parameters}
    assert parameters

    served = play_over_line("skill_game", rules, 3, parameters=parameters)

    assert served == play_here(rules, 3, parameters=parameters)


def test_what_the_rules_refuse_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    rules = registry.get("connect_four")

    (error,) = play_over_line("connect_four", rules, 1, parameters={"nonsense": 1})

    assert (error["reason"], "nonsense" in error["detail"]) == ("fault", True)
    assert "Traceback" in capsys.readouterr().err


def test_an_environment_of_gymnasium_is_served_under_the_id_of_a_catalog_file() -> None:
    rules = reference.make_environment("pole", "CartPole-v1", n_bins=0, max_steps=0)

    *steps, returns = play_over_line("pole", rules, 5)

    assert returns == [float(len(steps))]
    assert np.frombuffer(steps[0][2], "<f4").shape == (4,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--game", "nope"], "game_server: --game: unknown game 'nope': choose one of acrobot"),
        (["--gymnasium", "CartPole-v1"], "game_server: --gymnasium needs --game"),
        (["--gymnasium", "Nope-v1", "--game", "x"], "game_server: --gymnasium Nope-v1: "),
        (["--name", "a b"], "'a b': must be 1 to 60"),
        (["--slots", "0"], "'0' is no whole number from 1 to 4096"),
        (["--port", "-1"], "--port"),
        (["--eval-head-url", "ftp://x"], "the head is 'ftp://x'"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = reference.main([*arguments, "--host", "127.0.0.1"])
    except SystemExit as ended:
        status = int(ended.code or 0)

    text = capsys.readouterr().err
    assert (status, text.count("\n")) == (2, 1)
    assert words in text


def test_a_bad_label_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVALSITE_LABELS", "spot")

    assert reference.main([]) == 2
    assert "label 'spot'" in capsys.readouterr().err


def test_the_command_is_there_and_others_are_named() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gameservers", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    unknown, bad = run("game"), run("game_server", "--port", "x")

    assert (unknown.returncode, bad.returncode) == (2, 2)
    assert "'game' is none of eval_head, game_server" in unknown.stderr
    assert "game_server: argument --port: 'x'" in bad.stderr
