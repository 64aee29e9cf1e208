"""Battles on a real server of Pokemon Showdown, by poke-env and our lines: up to a whole stack.

Needs `./run tools install showdown poke-env`; where they are missing it is skipped, saying so.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pytest

from arena.errors import ServerFaultError
from arena.games.base import OVER
from arena.games.served import ServedGame, ServedState
from arena.games.showdown.installed import VARIABLE, name_package
from arena.games.showdown.served import make_server_game
from benchmarks.showdown_server import measure_poke_env, running_showdown
from benchmarks.storm import oracle
from launcher.errors import SetupError
from launcher.folders import ROOT
from launcher.showdown.home import require_node
from launcher.showdown.server import server_url
from launcher.stack import Stack, start_stack
from launcher.standalone.service import RunningService
from launcher.tools import find_tool
from tests.commands import evalsite
from workers.lines.game_line import GameLine
from workers.lines.sockets import SocketTransport

pytestmark = [pytest.mark.slow, pytest.mark.long]

DATA = ROOT / "var"
PLUGINS = ROOT / "gameservers" / "showdown" / "plugins"
TWO_SEATS, AGAINST = "showdown_server_gen1random", "showdown_against_poke_env"
ANSWER_S, LIMIT_S, N_MATCHES = 40.0, 300, 20
# Plays battles one after the other by first choices; prints how many messages are still worked on.
PAIR = """
import asyncio, sys
from gameservers.showdown.accounts import Place
from gameservers.showdown.pairs import Pool
from gameservers.showdown.views import open_views

async def play(url, node, battle_format, version):
    views = await open_views(node, battle_format, version)
    place = Place(url, "", battle_format, "", (), 10.0)
    pool = Pool(
        place, views, user="waits", mode="challenge", find_s=20, answer_s=20, stagger_s=0.2
    )
    for _ in range(3):
        pair = await pool.begin("")
        battle = pair.battle
        await battle.ready()
        while not battle.is_over:
            battle.apply(battle.look.legal[0])
            await battle.ready()
        pool.take_back("", pair)
        await asyncio.gather(*pool._leaving)
    await asyncio.sleep(1)
    print(sum("Account._take" in repr(task) for task in asyncio.all_tasks()))
    await views.close()

asyncio.run(play(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def showdown() -> Iterator[RunningService]:
    """Run a real server."""
    try:
        find_tool("poke-env", DATA)
        server = running_showdown(data=DATA)
        running = server.__enter__()
    except SetupError as error:
        pytest.skip(str(error))
    yield running
    server.__exit__(None, None, None)


@contextmanager
def serving(url: str, *options: str, **variables: str) -> Iterator[str]:
    """Run a game server; yield its address, or the line with which it has refused to start."""
    command = [sys.executable, "-m", "launcher", "showdown", "serve", "--address", url]
    server = subprocess.Popen(
        [*command, "--port", "0", *options],
        cwd=ROOT,
        env={**os.environ, "EVALSITE_VAR": str(DATA), **variables},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr
    last_line = ""
    try:
        while (line := server.stderr.readline()) and " serves " not in line:
            last_line = line
        match = re.search(r" at (ws://\S+) ", line)
        yield match[1] if match else last_line
    finally:
        server.terminate()
        server.wait()
        server.stderr.close()


def play(game: ServedGame, address: str, n_battles: int) -> list[list[float]]:
    """Return the returns of battles that are played at once, by random choices."""
    rng = Random(7)
    line = open_line(game, address)
    battles = [game.start_on(line, seed, opening_plies=0) for seed in range(n_battles)]
    while any(battle.to_move() != OVER for battle in battles):
        for battle in battles:
            if battle.to_move() != OVER:
                assert battle.observation(battle.to_move()).any()
                battle.apply(rng.choice(list(battle.legal_actions())))
    line.close()
    return [list(battle.returns()) for battle in battles]


def open_line(game: ServedGame, address: str) -> GameLine:
    return GameLine(
        lambda: SocketTransport(address),
        game.spec,
        server="showdown",
        answer_s=ANSWER_S,
        show_waiting=nullcontext,
        clock=time.monotonic,
    )


@pytest.mark.parametrize("mode", ["challenge", "ladder"])
def test_both_seats_are_asked_until_one_has_won(showdown: RunningService, mode: str) -> None:
    game = make_server_game(TWO_SEATS, "Battles", n_seats=2)
    with serving(server_url(showdown.port), "--mode", mode) as address:
        for returns in (*play(game, address, 8), *play(game, address, 8)):
            assert returns in ([1, -1], [-1, 1], [0, 0])


@pytest.mark.parametrize("opponent", ["random", "max_power", "heuristics"])
def test_one_seat_plays_against_a_player_of_poke_env(
    showdown: RunningService, opponent: str
) -> None:
    game = make_server_game(AGAINST, "Battles", n_seats=1).configured({"opponent": opponent})
    with serving(server_url(showdown.port), "--game", AGAINST) as address:
        scores = [score for (score,) in play(game, address, 16)]
    assert set(scores) <= {0, 0.5, 1}
    if opponent == "heuristics":
        assert sum(scores) < 6  # against random choices


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--format", "gen1nothing"), "has no format gen1nothing"),
        (("--format", "gen9randombattle"), "gen9randombattle is of generation 9"),
        (("--login-url", "http://127.0.0.1:9/"), "the login at http://127.0.0.1:9/ failed"),
    ],
)
def test_what_cannot_begin_is_said_in_a_line(
    showdown: RunningService, options: tuple[str, ...], why: str
) -> None:
    # Where nothing is asked for one, a password changes nothing but that it is shown.
    secret = {"EVALSITE_SHOWDOWN_PASSWORD": "secret"} if "--login-url" in options else {}
    with serving(server_url(showdown.port), *options, **secret) as line:
        assert why in line


def test_without_a_server_it_says_how_to_start_one() -> None:
    with serving("127.0.0.1:9") as line:
        assert "no Showdown server answers at ws://127.0.0.1:9" in line or "poke-env is not" in line


@pytest.mark.parametrize("act", ["kill", "suspend"])
def test_a_server_that_dies_or_hangs_in_a_battle_is_nobodys_fault(act: str) -> None:
    game = make_server_game(TWO_SEATS, "Battles", n_seats=2)
    try:
        server = running_showdown(data=DATA)
        find_tool("poke-env", DATA)
    except SetupError as error:
        pytest.skip(str(error))
    # A server that has just started reads its data before the first battle: 3 s were too few.
    with server as showdown, serving(server_url(showdown.port), "--answer-s", "10") as address:
        line = open_line(game, address)
        battles = [game.start_on(line, seed, opening_plies=0) for seed in range(3)]
        for battle in battles:
            assert battle.to_move() == 0
        family = showdown.process
        assert family
        for process in (*family.children(recursive=True), family):
            getattr(process, act)()
        try:
            for battle in battles:
                with pytest.raises(ServerFaultError, match="the Showdown server"):
                    play_first_moves(battle)
            with pytest.raises(ServerFaultError, match=r"Showdown server|opponent"):
                game.start_on(line, 9, opening_plies=0).to_move()
        finally:
            if act == "suspend":
                for process in (family, *family.children(recursive=True)):
                    process.resume()
        line.close()
    assert showdown.process is None


def test_no_message_waits_for_a_battle_that_is_over(showdown: RunningService) -> None:
    python = find_tool("poke-env", DATA) / "bin" / "python"
    url, node = server_url(showdown.port), require_node()
    done = subprocess.run(
        [python, "-c", PAIR, url, node, "gen1randombattle", name_package()],
        cwd=ROOT,
        env={**os.environ, VARIABLE: str(find_tool("showdown", DATA))},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.stdout.strip() == "0", done.stderr


def test_poke_env_alone_can_be_measured(showdown: RunningService) -> None:
    del showdown  # only whether the tools are there
    figures = measure_poke_env(20, 10, data=DATA)
    assert figures["n_battles"] == 20
    assert figures["battles_per_s"] > 0
    assert figures["decisions_per_battle"] > 20


def play_first_moves(battle: ServedState) -> None:
    while battle.to_move() != OVER:
        battle.apply(battle.legal_actions()[0])


@pytest.fixture(scope="module")
def stack(showdown: RunningService, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Run a stack whose node plays at a game server for each of the two games."""
    url, var = server_url(showdown.port), tmp_path_factory.mktemp("var")
    options = ("--game", AGAINST, "--name", "against")
    with serving(url) as two_seats, serving(url, *options) as against:
        settings = {
            "EVALSITE_PLUGINS": str(PLUGINS),
            "EVALSITE_GAME_SERVERS": f"{two_seats},{against}",
        }
        running = start_stack(var, nodes=1, slots=2, gpus=0, web=True, head=True, settings=settings)
        with running:
            yield running


@pytest.mark.parametrize("game", [TWO_SEATS, AGAINST])
def test_a_play_node_finishes_matches_on_it(stack: Stack, game: str) -> None:
    agents = ("--agents", "random,max_damage,showdown_heuristics")
    arguments = ("--game", game, "--num-matches", str(N_MATCHES), *agents)
    done = evalsite(stack, "evaluate", *arguments, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr + done.stdout
    assert f"Completed {N_MATCHES}" in done.stdout
    assert read_endings(stack, game) == {("done", "")}


def read_endings(stack: Stack, game: str) -> set[Any]:
    """Return how the attempts of a game have ended."""
    query = """
    SELECT DISTINCT a.ending, a.reason FROM matches_attempt a
    JOIN matches_match m ON m.id = a.match_id
    JOIN matches_leaderboard b ON b.id = m.leaderboard_id WHERE b.game = ?
    """
    with oracle.connect(str(Path(stack.plan.var) / "db.sqlite3")) as database:
        return set(database.execute(query, (game,)).fetchall())
