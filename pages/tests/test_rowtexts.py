"""The quick way to the rows of a board gives what their template gives."""

import pytest
from django.template.loader import render_to_string
from redis import Redis

from matches.models import Agent
from matches.ratings import standings
from matches.ratings.standings import Row
from matches.tests import boards
from pages import rowtexts

pytestmark = pytest.mark.django_db
RECORD = "won & lost"
BOARD = "a-board"


def _slow(rows: list[Row]) -> str:
    context = {"label": RECORD, "board": {"name": BOARD}}
    texts = (render_to_string(rowtexts.TEMPLATE, {"row": row, **context}) for row in rows)
    return "".join(texts)


def test_rows_are_as_their_template_renders_them(broker: Redis) -> None:
    board = boards.played_board().leaderboard
    names = ("<b>&amp; \"quoted\" 'too'</b>", "{mu} {agent} {rank}", "987654321", "%s \\1")
    for agent, name in zip(Agent.objects.order_by("pk"), names, strict=False):
        Agent.objects.filter(pk=agent.pk).update(name=name)
    rows = standings.load_rows(board.pk)
    assert {row["name"] for row in rows} >= set(names)
    assert rowtexts.render_rows(rows, RECORD, board=BOARD) == _slow(rows)


def test_no_row_is_no_text() -> None:
    assert rowtexts.render_rows([], RECORD, board=BOARD) == ""


def test_every_field_that_the_template_shows_has_its_value() -> None:
    row: Row = {name: f"value of {name}" for name in Row.__annotations__}  # type: ignore[assignment]
    row["agent"], row["rank"] = 7, 3
    assert rowtexts.render_rows([row], RECORD, board=BOARD) == _slow([row])
