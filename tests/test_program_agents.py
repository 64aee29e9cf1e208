"""Agents that live elsewhere on a running stack: levels of Stockfish, and programs that fail."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from launcher.stack import Stack, start_stack
from tests.commands import evalsite
from workers.programs.tests.agents import find_command

pytestmark = [pytest.mark.slow, pytest.mark.long]

LIMIT_S = 900
# Debian puts games where the path of root does not look.
PATHS = "/usr/games:/usr/local/bin:/usr/bin"
LEVELS = ("uci:stockfish,skill=20", "uci:stockfish,skill=8", "uci:stockfish,skill=0")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    pick = find_command("c", tmp_path_factory.mktemp("agents"))
    programs = {"good": pick, "dies": f"{pick} die 4", "hangs": f"{pick} hang 4"}
    programs["lies"] = f"{find_command('javascript', Path())} lie 4"
    if stockfish := shutil.which("stockfish", path=PATHS):
        programs["stockfish"] = stockfish
    listed = "; ".join(f"{name}={command}" for name, command in programs.items())
    settings = {"EVALSITE_PROGRAMS": listed}
    var = tmp_path_factory.mktemp("var")
    with start_stack(var, nodes=1, slots=2, web=True, settings=settings) as running:
        yield running


def evaluate(stack: Stack, game: str, n: int, agents: list[str], *more: str) -> Any:
    """Return what is told of the matches and, the best first, of their agents."""
    options = ("--game", game, "--num-matches", str(n), "--agents", ",".join(agents), *more)
    done = evalsite(stack, "evaluate", *options, "--json", timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(not shutil.which("stockfish", path=PATHS), reason="apt-get install stockfish")
def test_three_levels_of_stockfish_and_alphabeta_are_ranked_in_order(stack: Stack) -> None:
    agents = [*LEVELS, "alphabeta:2"]
    report = evaluate(stack, "chess", 200, agents)
    assert [row["agent"] for row in report["ratings"]] == agents
    assert (report["completed"], report["forfeits"], report["retried"]) == (200, 0, 0)


def test_who_dies_hangs_or_lies_forfeits_and_nobody_else(stack: Stack) -> None:
    names = ["good", "dies", "hangs", "lies"]
    agents = [*(f"program:{name}" for name in names), "random"]
    report = evaluate(stack, "connect_four", 24, agents, "--move-s", "1")
    forfeits = {row["agent"]: row["forfeits"] for row in report["ratings"]}
    reasons = {"dies": "crash", "hangs": "timeout", "lies": "illegal"}
    assert report["forfeit_reasons"] == {
        reason: forfeits[f"program:{name}"] for name, reason in reasons.items()
    }
    assert (report["completed"], forfeits["program:good"], forfeits["random"]) == (24, 0, 0)
    # A time-out is charged once another attempt has repeated it.
    assert report["failed_attempts"] == {"timeout": forfeits["program:hangs"]}
