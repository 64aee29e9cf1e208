"""A battle asks its seats in order, whatever the order in which the server speaks."""

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from gameservers.showdown.battle import OVER, Battle
from gameservers.showdown.errors import BattleError
from gameservers.showdown.views import Look, Views


class FakeViews:
    """Allows moves 0 and 1 everywhere, and notes what it was told."""

    def __init__(self) -> None:
        self.looks: list[tuple[int, int, list[str]]] = []
        self.ended: list[int] = []

    def new_key(self) -> int:
        return len(self.looks) + 1

    async def look(self, key: int, seat: int, lines: Sequence[str], request: Any) -> Look:
        del key
        self.looks.append((seat, request["rqid"], list(lines)))
        return Look([0, 1], ["move 1", "move 2"], ["Tackle", "Growl"], 1, b"")

    def end(self, key: int) -> None:
        self.ended.append(key)


class Table:
    """A battle between `ann`, who is the server's p2, and `bob`; what they choose is noted."""

    def __init__(self, *names: str, answer_s: float = 5.0) -> None:
        self.sent: list[tuple[str, str, int]] = []
        self.views = FakeViews()
        seats = {name: self.choose_as(name) for name in names or ("ann", "bob")}
        self.battle = Battle(cast(Views, self.views), seats, answer_s=answer_s)

    def choose_as(self, name: str) -> Any:
        async def choose(text: str, number: int) -> None:
            self.sent.append((name, text, number))

        return choose

    def ask(self, seat: int, number: int, **more: Any) -> None:
        request = {"rqid": number, "side": {"id": ("p2", "p1")[seat]}, **more}
        self.battle.hear(seat, [f"|request|{json.dumps(request)}"])


async def test_seat_0_is_asked_first_and_seat_1_hears_nothing_of_its_choice() -> None:
    table = Table()
    battle = table.battle
    battle.hear(0, ["|switch|p1a: Onix"])
    table.ask(1, 4)
    table.ask(0, 3)
    await battle.ready()
    assert battle.seat == 0
    battle.apply(1)
    await battle.ready()
    assert battle.seat == 1
    assert table.sent == [("ann", "/choose move 2", 3)]
    # Each is seen from its own side, by what it has heard itself.
    assert table.views.looks == [(1, 3, ["|switch|p1a: Onix"]), (0, 4, [])]
    battle.apply(0)
    table.ask(0, 5)
    table.ask(1, 6)
    await battle.ready()
    assert table.sent[1:] == [("bob", "/choose move 1", 4)]
    assert battle.seat == 0


async def test_where_one_must_choose_only_that_one_is_asked() -> None:
    table = Table()
    table.ask(0, 3, wait=True)
    table.ask(1, 4, forceSwitch=[True])
    await table.battle.ready()
    assert table.battle.seat == 1


async def test_nobody_is_asked_before_both_have_heard_of_the_turn() -> None:
    table = Table(answer_s=0.05)
    table.ask(1, 4)
    with pytest.raises(BattleError, match=r"said nothing for 0\.05 s in the battle of ann, bob"):
        await table.battle.ready()


async def test_a_seat_is_asked_again_after_a_choice_that_turned_out_not_to_be_one() -> None:
    table = Table()
    table.ask(0, 3)
    table.ask(1, 4)
    for _ in range(2):
        await table.battle.ready()
        table.battle.apply(0)
    table.battle.hear(0, ["|error|[Unavailable choice] Can't switch: You are trapped"])
    table.ask(0, 5, update=True)
    await table.battle.ready()
    assert table.battle.seat == 0
    assert [number for *_, number in table.sent] == [3, 4]


async def test_a_result_is_told_by_the_name_of_the_account() -> None:
    table = Table()
    table.battle.hear(1, ["|win|bob"])
    table.battle.hear(0, ["|win|bob"])
    await table.battle.ready()
    assert (table.battle.seat, table.battle.returns) == (OVER, [-1.0, 1.0])
    tied = Table("ann")
    tied.battle.hear(0, ["|tie"])
    await tied.battle.ready()
    assert tied.battle.returns == [0.0]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("|error|[Invalid choice] Can't move: no such move", "refuses a choice: .*no such move"),
        ("|bigerror|The simulator process crashed. We've been notified", "simulator .* crashed"),
        ('|request|{"teamPreview":true,"rqid":1,"side":{"id":"p1"}}', "team preview"),
    ],
)
async def test_what_goes_wrong_ends_it_by_no_seats_fault(line: str, why: str) -> None:
    table = Table()
    table.battle.hear(0, [line])
    with pytest.raises(BattleError, match=why) as caught:
        await table.battle.ready()
    assert caught.value.reason == "fault"


async def test_a_result_counts_more_than_a_connection_that_is_lost_after_it() -> None:
    table = Table("ann")
    table.battle.hear(0, ["|win|ann"])
    table.battle.fail("the connection is lost")
    await table.battle.ready()
    assert table.battle.returns == [1.0]
    table.battle.close()
    assert table.views.ended == [1]
