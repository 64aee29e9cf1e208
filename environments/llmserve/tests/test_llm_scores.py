"""A language model among the yardsticks, against a stand-in: no real model is asked here."""

import json
from pathlib import Path
from typing import Any

import pytest

import evaluate
from llmserve_env.models import ServeAction
from llmserve_env.simulator.agents import Fixed
from llmserve_env.simulator.workload import ADVERSARIAL, BURSTY, N_WINDOWS
from llmserve_env.yardsticks import compare, score_episode
from tests.stub_model import ACTION, KEY, StubModel

SEEDS = [10_000, 10_001]


def run(*words: str) -> int:
    few = ("--task", BURSTY.id, "--episodes", str(len(SEEDS)), "--jobs", "2")
    return evaluate.main(["--agent", *words, *few])


def read_figures(path: Path) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(path.read_text())
    return figures


def test_a_model_stands_beside_the_others_on_equal_seeds(
    stub: StubModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.json"
    assert run("llm", "heuristic", "--model", "m", "--json", str(path)) == 0
    figures = read_figures(path)
    # The stand-in always answers the same, and all of it are choices of the grid.
    constant = Fixed(ServeAction(**ACTION).to_settings())
    scores = figures["scores"][BURSTY.id]
    assert scores["llm"] == [score_episode(BURSTY.id, constant.decide, seed) for seed in SEEDS]
    assert len(stub.requests) == len(SEEDS) * N_WINDOWS
    ahead, *_ = (row for row in figures["paired"] if row["agent"] == "llm")
    assert ahead["mean"] == compare(scores["llm"], scores["heuristic"]).mean
    assert (figures["model"], figures["invalid_answers"]) == ("m", {BURSTY.id: 0})
    assert f"{BURSTY.id}: llm against heuristic: " in capsys.readouterr().out


@pytest.mark.slow
def test_each_episode_begins_anew_whatever_the_model_answered_before(
    stub: StubModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # One episode after the other: nothing valid before the 100th answer, in the second one.
    stub.answer = lambda number: json.dumps(ACTION) if number >= 100 else "I would rather not."
    few = ["--task", ADVERSARIAL.id, "--episodes", "2", "--jobs", "1"]
    path = tmp_path / "figures.json"
    assert evaluate.main(["--agent", "llm", "--model", "m", *few, "--json", str(path)]) == 0
    figures = read_figures(path)
    assert figures["invalid_answers"] == {ADVERSARIAL.id: 100}
    assert f"{ADVERSARIAL.id}: 100 of 180 answers of m were invalid" in capsys.readouterr().out
    # What repeats the first settings is the constant that the server begins with.
    assert figures["scores"][ADVERSARIAL.id]["llm"][0] == score_episode(
        ADVERSARIAL.id, lambda server, last: last, SEEDS[0]
    )


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "AuthenticationError"), (404, "NotFoundError"), (500, "InternalServerError")],
)
def test_an_api_that_fails_ends_it_with_two_and_without_the_key(
    status: int, reason: str, stub: StubModel, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stub.status = lambda number: status if number >= 7 else 200
    path = tmp_path / "figures.json"
    assert run("llm", "heuristic", "--model", "m", "--json", str(path)) == 2
    streams = capsys.readouterr()
    assert f"the model m did not answer: {reason} (HTTP {status})" in streams.err
    assert KEY not in streams.out + streams.err
    # It is asked before the others are played, whose minutes would be lost.
    assert "heuristic" not in streams.out + streams.err
    assert not path.exists()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("http://127.0.0.1:9/v1", "the model m did not answer: APIConnectionError"),
        ("http://[::", "OPENAI_BASE_URL must be an address"),
        ("http://host:port", "OPENAI_BASE_URL must be an address"),
        ("nonsense", "OPENAI_BASE_URL must be an address"),
    ],
)
def test_where_no_model_is_ends_it_with_two(
    address: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    assert run("llm", "--model", "m") == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "key", "message"),
    [
        (["llm"], KEY, "--agent llm needs --model"),
        (["llm", "--model", "m"], " ", "OPENAI_API_KEY is not set"),
        (["all", "--model", "m"], "", "OPENAI_API_KEY is not set"),
        (["ppo", "--model", "m"], KEY, "--model is for --agent llm or all"),
    ],
)
def test_a_missing_key_or_model_ends_it_with_two_before_anything_is_played(
    words: list[str],
    key: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(SystemExit) as error:
        run(*words)
    assert error.value.code == 2
    streams = capsys.readouterr()
    assert message in streams.err
    assert KEY not in streams.out + streams.err


@pytest.mark.slow
@pytest.mark.parametrize("model", [[], ["--model", "m"]])
def test_all_agents_are_with_a_model_only_where_one_is_named(
    model: list[str], stub: StubModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(evaluate, "AGENTS", ("random", "heuristic"))
    path = tmp_path / "figures.json"
    assert run("all", *model, "--json", str(path)) == 0
    figures = read_figures(path)
    assert set(figures["table"][BURSTY.id]) == {"random", "heuristic"} | (
        {"llm"} if model else set()
    )
    assert ("invalid_answers" in figures) == bool(model)
