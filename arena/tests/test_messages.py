"""What monitors are shown of messages."""

import pytest
from msgspec.structs import replace

from arena.errors import MessageError
from arena.message_texts import describe_message
from arena.messages import (
    Alive,
    Checked,
    CheckOrder,
    Ending,
    Limits,
    Mark,
    MatchOrder,
    MatchOrderRow,
    Reason,
    Report,
    ResultRow,
    Results,
    Started,
    read_order,
    to_wire,
)

TOKEN = "7" * 32
KEY = "8" * 64
LINK = "/files/checkpoints/ab?until=1&signature=feed"
ORDER, CHECKPOINT = "a" * 32, "c" * 64

ROW = MatchOrderRow(match=1, attempt=1, game_seed=3, seats=[0, 1], token=TOKEN)
RESULT = ResultRow(1, 1, TOKEN, Ending.DONE, [0, 1], Reason.NONE, -1, "", 2, 20, "1,2")


def _results(*, is_last: bool) -> Results:
    return Results("node-1", "life", ORDER, [RESULT], [], is_last, KEY)


def _checked(refusal: str) -> Checked:
    return Checked("gpu-1", CHECKPOINT, TOKEN, refusal, 10, 0, 0.1)


@pytest.mark.parametrize(
    ("message", "description"),
    [
        (
            MatchOrder(ORDER, TOKEN, "chess", 1, {}, 0, Limits(), [], [ROW, ROW], None, LINK),
            f"(order {ORDER}, 2 matches of chess)",
        ),
        (
            CheckOrder(CHECKPOINT, LINK, TOKEN, "chess", 7, [2], KEY),
            f"(checkpoint {CHECKPOINT} of chess)",
        ),
        (
            Alive("node-1", "life", 2, ["cpu"], {}, [ORDER], KEY),
            "(node-1 is alive, 1 orders in hand)",
        ),
        (Started("node-1", "life", ORDER, TOKEN, KEY), f"(node-1 has started order {ORDER})"),
        (_results(is_last=False), f"(1 results of order {ORDER})"),
        (_results(is_last=True), f"(1 results of order {ORDER}, the last)"),
        (Mark("2026-01-01T00:00:00+00:00", TOKEN), "(mark of 2026-01-01T00:00:00+00:00)"),
        (_checked(""), f"(checkpoint {CHECKPOINT} is ready)"),
        (_checked("NaN"), f"(checkpoint {CHECKPOINT} is refused)"),
    ],
)
def test_a_message_is_shown_without_its_tokens(
    message: Report | MatchOrder | CheckOrder, description: str
) -> None:
    assert describe_message(message) == description
    assert TOKEN not in description
    assert KEY not in description


def test_a_node_that_knows_one_queue_of_reports_is_sent_nothing_else() -> None:
    order = MatchOrder(ORDER, TOKEN, "chess", 1, {}, 0, Limits(), [], [ROW])
    assert "reports" not in to_wire(order)
    assert read_order(to_wire(order)) == order
    elsewhere = replace(order, reports="reports.9")
    assert read_order(to_wire(elsewhere)).reports == "reports.9"
    for queue in ("control", "reports.10", "reports.0", "play.node-1"):
        with pytest.raises(MessageError, match="reports"):
            read_order(to_wire(order) | {"reports": queue})
