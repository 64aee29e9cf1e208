"""What agents are measured against, and the learned policy by its weights."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import evaluate
import tune
from llmserve_env import yardsticks
from llmserve_env.network import MASKS, SHAPES, Network, WeightsError, load_network
from llmserve_env.simulator.agents import Fixed, Switch, decide_by_rules, find_choices
from llmserve_env.simulator.features import N_FIELDS, SIZE
from llmserve_env.simulator.settings import CHOICES, FIRST, Settings
from llmserve_env.simulator.simulator import Server
from llmserve_env.simulator.workload import BURSTY, STATIC, TASKS
from llmserve_env.yardsticks import (
    Scored,
    compare,
    find_switch,
    list_constants,
    read_tuned,
    score_all,
    score_episode,
)

FEW = [Settings(32, 0.4, depth, 1, False, True) for depth in (0, 3)]


def draw_weights(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape).astype(np.float32) / 8 for name, shape in SHAPES.items()}


def test_the_grid_is_large_and_of_choices_alone() -> None:
    constants = list_constants()
    assert len(set(constants)) == len(constants) == 900
    for index, choices in enumerate(CHOICES):
        assert {settings[index] for settings in constants} <= set(choices)


def test_the_best_comes_first() -> None:
    scored = score_all(STATIC.id, map(Fixed, FEW), [1, 2], n_processes=1)
    assert scored[0].mean >= scored[1].mean
    assert scored[0].scores[1] == score_episode(STATIC.id, scored[0].agent.decide, 2)


def test_a_switch_is_never_worse_than_the_best_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yardsticks, "QUEUES", (3.0,))
    monkeypatch.setattr(yardsticks, "N_ROUNDS", 1)
    constants = score_all(BURSTY.id, map(Fixed, FEW), [1], n_processes=1)
    switch = find_switch(BURSTY.id, constants, [1], n_processes=1)
    assert switch.mean >= constants[0].mean
    assert isinstance(switch.agent, Switch)


def test_differences_are_paired() -> None:
    paired = compare([0.5, 0.7, 0.6], [0.4, 0.7, 0.4])
    assert paired.mean == pytest.approx(0.1)
    assert paired.se == pytest.approx(0.1 / 3**0.5)
    assert paired.wins == pytest.approx(2 / 3)


def test_what_was_tuned_is_read_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "TUNED", tmp_path / "tuned.json")
    monkeypatch.setattr(tune, "list_constants", lambda: FEW)
    monkeypatch.setattr(yardsticks, "QUEUES", (3.0,))
    monkeypatch.setattr(yardsticks, "N_ROUNDS", 1)
    assert tune.main(["--task", STATIC.id, "--episodes", "1", "--jobs", "1"]) == 0
    fixed, switch = read_tuned(tune.TUNED)[STATIC.id]
    assert fixed.settings in FEW
    assert {switch.calm, switch.crowded} <= set(FEW)


def test_every_task_has_been_tuned_and_trained() -> None:
    assert read_tuned().keys() == TASKS.keys()
    for task in TASKS:
        decide = load_network(evaluate.WEIGHTS / f"{task}.safetensors").decide
        assert isinstance(decide(Server(TASKS[task], 1), FIRST), Settings)


def test_a_network_takes_only_choices_and_draws_as_it_says() -> None:
    network, server = Network(draw_weights()), Server(BURSTY, 1)
    rng = np.random.default_rng(1)
    observations, choices, log_p = network.sample(server, find_choices(FIRST), 400, rng)
    assert observations.shape == (400, N_FIELDS, SIZE)
    for field in range(N_FIELDS):
        assert MASKS[field][choices[:, field]].all()
    first = network.logits(observations[:1, 0], 0)[0]
    expected = np.exp(first - np.logaddexp.reduce(first))
    share = np.bincount(choices[:, 0], minlength=len(expected)) / 400
    assert np.abs(share - expected).max() < 0.1
    assert (log_p < 0).all()


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (lambda weights: weights.pop("value.bias"), "value.bias is None, must be (1,)"),
        (lambda weights: weights.update(more=np.zeros(1, np.float32)), "more is (1,)"),
        (
            lambda weights: weights.update({"policy.bias": np.zeros(3, np.float32)}),
            "policy.bias is (3,), must be (12,)",
        ),
        (lambda weights: weights["policy.bias"].fill(np.nan), "policy.bias must be finite float32"),
    ],
)
def test_weights_that_do_not_fit_are_named(
    spoil: Callable[[dict[str, np.ndarray]], object],
    line: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    weights = draw_weights()
    spoil(weights)
    save_file(weights, tmp_path / f"{STATIC.id}.safetensors")
    with pytest.raises(WeightsError) as error:
        load_network(tmp_path / f"{STATIC.id}.safetensors")
    assert line in str(error.value)
    arguments = ["--agent", "ppo", "--task", STATIC.id, "--weights", str(tmp_path)]
    assert evaluate.main([*arguments, "--jobs", "1"]) == 2
    assert line in capsys.readouterr().err


def test_what_are_no_weights_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "w.safetensors").write_bytes(b"no weights")
    with pytest.raises(WeightsError, match="no weights in safetensors"):
        load_network(tmp_path / "w.safetensors")


def test_an_evaluation_tells_every_pair_on_equal_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "AGENTS", ("random", "heuristic", "best_fixed", "hindsight"))
    monkeypatch.setattr(evaluate, "list_constants", lambda: FEW)
    path = tmp_path / "figures.json"
    few = ["--task", STATIC.id, "--episodes", "3", "--jobs", "1", "--json", str(path)]
    assert evaluate.main(few) == 0
    figures = json.loads(path.read_text())
    assert figures["seeds"] == [10_000, 10_001, 10_002]
    table = figures["table"][STATIC.id]
    assert table["random"] < table["heuristic"] < table["hindsight"]
    assert len(figures["paired"]) == 4 * 3
    assert figures["paired"][0].keys() == {"agent", "against", "task", "mean", "se", "wins"}
    assert STATIC.id in capsys.readouterr().out


def test_given_seeds_are_played_in_their_order(tmp_path: Path) -> None:
    seeds, path = [2**63 - 1, 7, 2**32], tmp_path / "figures.json"
    seed_file = write_seeds(tmp_path, "9223372036854775807 7\n4294967296\n")
    arguments = ["--agent", "heuristic", "--task", STATIC.id, "--seeds", seed_file, "--jobs", "1"]
    assert evaluate.main([*arguments, "--json", str(path)]) == 0
    figures = json.loads(path.read_text())
    assert figures["seeds"] == seeds
    expected = [score_episode(STATIC.id, decide_by_rules, seed) for seed in seeds]
    assert figures["scores"][STATIC.id]["heuristic"] == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1 two", "no file of whole numbers"),
        ("1 -2", "-2 must be in 0 to 9223372036854775807"),
        ("1 9223372036854775808", "9223372036854775808 must be in"),
        ("1 1000000", "1000000 must be in"),
        ("1 4294967295", "which are for training"),
        ("1 2 1", "must name 2 seeds or more, each once: 2 different of 3"),
        ("1", "must name 2 seeds or more, each once: 1 different of 1"),
        ("", "must name 2 seeds or more"),
    ],
)
def test_given_seeds_that_cannot_be_end_with_two(
    text: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        evaluate.main(["--seeds", write_seeds(tmp_path, text)])
    assert error.value.code == 2
    assert line in capsys.readouterr().err


def test_given_seeds_and_a_range_exclude_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in (["--seed0", "0"], ["--episodes", "5"]):
        with pytest.raises(SystemExit) as error:
            evaluate.main(["--seeds", write_seeds(tmp_path, "1 2"), *options])
        assert error.value.code == 2
        assert "leave --episodes and --seed0 out" in capsys.readouterr().err


def write_seeds(folder: Path, text: str) -> str:
    path = folder / "seeds.txt"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    "options", [["--episodes", "1"], ["--seed0", "99990"], ["--jobs", "0"], ["--seed0", "-1"]]
)
def test_options_that_cannot_be_end_with_two(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        evaluate.main(options)
    assert error.value.code == 2
    assert options[0] in capsys.readouterr().err


def test_scored_agents_are_told_by_their_mean() -> None:
    assert Scored(Fixed(FIRST), (0.2, 0.4)).mean == pytest.approx(0.3)
