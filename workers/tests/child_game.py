"""A game that a child process plays, and real players of it and of the fake game."""

import os
import sys
from contextlib import nullcontext
from dataclasses import replace
from typing import cast

from arena.games.base import CHILD, Game
from arena.games.catalog import connect_four
from arena.games.served import ServedGame
from workers.lines.opening import Lines
from workers.player import main
from workers.tests.fakes import CATALOGS, GAMES
from workers.tests.served import FakeServer

HELLO = FakeServer(connect_four.GAME)._hello("in_child")
# Every episode is over as it begins.
CODE = f"""
import json, sys
for line in sys.stdin:
    for said in json.loads(line):
        if said["kind"] == "hello":
            answer = {HELLO}
        else:
            answer = dict(kind="state", episode=said["episode"], step=0, seat=-1, returns=[1, -1])
        print(json.dumps([answer]), flush=True)
"""
SPEC = replace(connect_four.GAME.spec, id="in_child", title="In a child", served=CHILD, engine="")
GAME = ServedGame(SPEC, command=(sys.executable, "-c", CODE))
COMMAND = (sys.executable, "-m", "workers.tests.child_game")


if __name__ == "__main__":
    games = {**GAMES, SPEC.id: cast(Game, GAME)}
    lines = Lines(os.environ, show_waiting=nullcontext)
    catalogs = replace(CATALOGS, game=games.__getitem__, lines=lines.open_lines)
    main(sys.argv[1:], lambda channel, call_memory: catalogs)
