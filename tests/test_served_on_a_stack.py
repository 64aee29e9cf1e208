"""Game servers that lie to a whole stack, and a game that is a child process of each player."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.request import urlopen

import pytest

from benchmarks.storm import oracle
from launcher.folders import ROOT
from launcher.stack import Stack, start_stack
from matches.tests.plugin_folder import SKELETONS
from tests.commands import evalsite

pytestmark = [pytest.mark.slow, pytest.mark.long]

LIMIT_S, ANSWER_S, N_MATCHES = 90, 2, 20
# Games of Connect Four, each with one server of its name: what it says, whether the rules are here.
GAMES = {
    "lies_illegal": ("illegal", True),
    "lies_spec": ("spec", True),
    "lies_large": ("large", True),
    "lies_silent": ("silent", True),
    "lies_flip": ("flip", True),
    "lies_unseen": ("flip", False),
}
CATALOG_FILE = """
from dataclasses import replace

from arena.games.catalog.connect_four import GAME as RULES
from arena.games.served import ServedGame, serve_rules

GAME = serve_rules(RULES, id="{game}", title="{game}")
if not {has_rules}:
    GAME = ServedGame(GAME.spec)
"""
SCHEDULE = """
from matches.ledger import evaluation
from matches.plans import TournamentPlan
from matches.store.clock import db_now

for game in {games}:
    plan = TournamentPlan(name=game, n_matches={n_matches})
    asked = evaluation.Evaluation(game, plan, ["random", "centre"])
    evaluation.start_evaluation(asked, now=db_now())
"""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the folders of the games that liars serve, and of the game in JavaScript."""
    root = tmp_path_factory.mktemp("plugins")
    for family in ("games", "policies"):
        (root / family).mkdir()
    for game, (_, has_rules) in GAMES.items():
        text = CATALOG_FILE.format(game=game, has_rules=has_rules)
        (root / f"games/{game}.py").write_text(text)
    policy = (SKELETONS / "policy.txt").read_text()
    (root / "policies/centre.py").write_text(policy.replace("NAME", "centre"))
    return f"{root}:{ROOT / 'examples/gameservers'}"


@pytest.fixture(scope="module")
def addresses(plugins: str) -> Iterator[list[str]]:
    """Run the liars; return where each listens."""
    with ExitStack() as around:
        servers = []
        for game, (lie, _) in GAMES.items():
            server = subprocess.Popen(
                [sys.executable, "-m", "tests.lying_server", game, lie],
                cwd=ROOT,
                env={**os.environ, "EVALSITE_PLUGINS": plugins},
                stderr=subprocess.PIPE,
                text=True,
            )
            around.enter_context(server)
            around.callback(server.kill)
            servers.append(server)
        yield [read_address(server) for server in servers]


def read_address(server: "subprocess.Popen[str]") -> str:
    assert server.stderr
    line = server.stderr.readline()
    match = re.search(r" at (ws://\S+) ", line)
    assert match, line
    return match[1]


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory, plugins: str, addresses: list[str]
) -> Iterator[Stack]:
    """Run a stack with a head and a node, in which all games of liars are being played."""
    settings = {
        "EVALSITE_PLUGINS": plugins,
        "EVALSITE_GAME_SERVERS": ",".join(addresses),
        "EVALSITE_SERVER_S": str(ANSWER_S),
    }
    with pytest.MonkeyPatch.context() as patch:
        # Where `node` is, which plays the game in JavaScript.
        patch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        var = tmp_path_factory.mktemp("var")
        running = start_stack(var, nodes=1, slots=2, gpus=0, web=True, head=True, settings=settings)
    with running:
        code = SCHEDULE.format(games=list(GAMES), n_matches=N_MATCHES)
        subprocess.run(
            [sys.executable, "manage.py", "shell", "-c", code],
            cwd=ROOT,
            env=dict(running.env),
            check=True,
            timeout=LIMIT_S,
        )
        yield running


def read(stack: Stack, query: str, *values: Any) -> list[Any]:
    with oracle.connect(str(stack.plan.var / "db.sqlite3")) as database:
        return list(database.execute(query, values).fetchall())


def wait_for_quarantine(stack: Stack, server: str) -> str:
    """Return why control has put a server into quarantine by itself."""
    query = (
        "SELECT quarantine_reason FROM matches_worker WHERE node = ? AND quarantine_reason != ''"
    )
    end = monotonic() + LIMIT_S
    while not (rows := read(stack, query, server)):
        assert monotonic() < end, read(stack, "SELECT node, address, game FROM matches_worker")
        sleep(0.2)
    return str(rows[0][0])


def read_attempts(stack: Stack, game: str) -> set[tuple[str, str]]:
    """Return how the attempts of a game have ended."""
    query = """
    SELECT DISTINCT a.ending, a.reason FROM matches_attempt a
    JOIN matches_match m ON m.id = a.match_id
    JOIN matches_leaderboard b ON b.id = m.leaderboard_id WHERE b.game = ?
    """
    return set(read(stack, query, game))


def count_outcomes(stack: Stack, game: str) -> int:
    query = """
    SELECT COUNT(*) FROM matches_outcome o JOIN matches_match m ON m.id = o.match_id
    JOIN matches_leaderboard b ON b.id = m.leaderboard_id WHERE b.game = ?
    """
    return int(read(stack, query, game)[0][0])


def page_of_tournament(stack: Stack, name: str) -> str:
    ((number,),) = read(stack, "SELECT id FROM matches_tournament WHERE name = ?", name)
    with urlopen(f"http://127.0.0.1:{stack.plan.ports.web}/tournaments/{number}/") as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize(
    ("game", "why"),
    [
        ("lies_illegal", r"legal actions must be ascending and in 0\.\.6, are \[99\]"),
        ("lies_spec", "n_actions is 9, the catalog says 7"),
        ("lies_large", "a message of over 4194304 bytes"),
        ("lies_silent", r"has said nothing for (2\.0|1\.\d) s|has not answered an episode for 2 s"),
    ],
)
def test_a_server_that_speaks_nonsense_is_stopped_and_nothing_of_it_is_rated(
    stack: Stack, game: str, why: str
) -> None:
    reason = wait_for_quarantine(stack, game)
    assert re.search(why, reason)
    assert "3 matches in a row" in reason or "of its last" in reason
    endings = read_attempts(stack, game)
    assert ("failed", "server_fault") in endings
    assert {ending for ending, _ in endings} <= {"failed", "interrupted"}
    assert count_outcomes(stack, game) == 0
    explained = evalsite(stack, "explain", "worker", game)
    assert "quarantine" in explained.stdout, explained.stderr


def test_a_server_that_flips_returns_is_found_where_the_rules_are_ours(stack: Stack) -> None:
    reason = wait_for_quarantine(stack, "lies_flip")
    assert "by our rules" in reason
    assert "by the same rules" in page_of_tournament(stack, "lies_flip")
    explained = evalsite(stack, "explain", "worker", "lies_flip")
    assert "its page in the admin can declare them void" in explained.stdout, explained.stderr


def test_where_the_rules_are_not_ours_the_page_says_that_nobody_can_know(stack: Stack) -> None:
    end = monotonic() + LIMIT_S
    while count_outcomes(stack, "lies_unseen") < N_MATCHES:
        assert monotonic() < end, read_attempts(stack, "lies_unseen")
        sleep(0.2)
    query = "SELECT quarantine_reason FROM matches_worker WHERE node = 'lies_unseen'"
    assert read(stack, query) == [("",)]
    assert "nobody can know" in page_of_tournament(stack, "lies_unseen")


def test_a_game_that_is_a_child_process_is_played(stack: Stack) -> None:
    options = ("--game", "nim_js", "--num-matches", "40", "--agents", "random,centre")
    done = evalsite(stack, "evaluate", *options, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert "Completed 40 of which" in done.stdout
    (newest,) = json.loads(evalsite(stack, "tournaments", "--limit", "1", "--json").stdout)
    assert newest["n_retried"] == 0
    assert read_attempts(stack, "nim_js") == {("done", "")}
