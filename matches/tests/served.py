"""The test game as one that game servers play, and what they say of it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from arena.games import registry as games
from arena.games.base import SERVER
from arena.games.catalog.skill_game import GAME as RULES
from arena.games.served import ServedGame
from arena.messages import Ending, MatchOrder, MatchOrderRow, Reason, ResultRow
from matches.ledger import recording
from matches.tests import factories as make


def let_servers_play(monkeypatch: pytest.MonkeyPatch, *, has_rules: bool = True) -> None:
    """Have game servers play the game of `make.planned`; its rules are ours or are not."""
    get = games.get
    served = ServedGame(replace(RULES.spec, served=SERVER), rules=RULES if has_rules else None)
    monkeypatch.setattr(games, "get", lambda name: served if name == "skill_game" else get(name))


def honest(row: MatchOrderRow, **more: Any) -> ResultRow:
    """Return the result of `10 50` by the rules: seat 1 wins."""
    return make.result(row, ranks=[1, 0], **{"returns": [-1.0, 1.0], **more})


def flipped(row: MatchOrderRow, **more: Any) -> ResultRow:
    """Return the result of a server that flips returns."""
    return make.result(row, ranks=[0, 1], returns=[1.0, -1.0], **more)


def faulty(row: MatchOrderRow, **more: Any) -> ResultRow:
    """Return the result of a server that speaks nonsense."""
    fields = {"ending": Ending.FAILED, "reason": Reason.SERVER_FAULT, **more}
    return make.result(row, **fields)


def lost(row: MatchOrderRow, **more: Any) -> ResultRow:
    """Return the result of a server that went away."""
    fields = {"ending": Ending.INTERRUPTED, "reason": Reason.SERVER_LOST, **more}
    return make.result(row, **fields)


def server_of(order: MatchOrder, row: MatchOrderRow) -> str:
    """Return the server that plays a match of an order."""
    return order.servers[order.served_by[order.matches.index(row)]].name


def play(
    order: MatchOrder,
    tell: Callable[..., ResultRow] = honest,
    *,
    now: Any = make.NOW,
    is_last: bool = True,
) -> recording.RecordedCounts:
    """Let a node play all of an order, each match on its server."""
    make.start(order, now=now)
    rows = [tell(row, server=server_of(order, row)) for row in order.matches]
    return recording.record_report(make.reported(order, rows, is_last), now=now)
