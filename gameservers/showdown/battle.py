"""A battle on the server, as the seats that are played here hear of it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from gameservers.showdown.errors import BattleError
from gameservers.showdown.views import Look, Views

OVER: Final = -1
CRASHED: Final = "|bigerror|The simulator process crashed"
SIDES: Final = ("p1", "p2")

Choose = Callable[[str, int], Awaitable[None]]


@dataclass
class Seat:
    """One seat that is played here; choose: sends a choice and the number of its request."""

    name: str
    choose: Choose
    key: int
    lines: list[str] = field(default_factory=list)
    request: dict[str, Any] | None = None
    # Whether it has been told, since the last choice, if it must choose.
    has_heard: bool = False


class Battle:
    """Gathers what the server says to each seat, and asks the seats one after the other.

    Both choose at the same time: seat 0 is asked first, and what it chose is in nothing that seat 1
    hears before its own choice. Where one alone must choose, only that one is asked.
    """

    def __init__(self, views: Views, seats: Mapping[str, Choose], *, answer_s: float) -> None:
        """seats: by name of the account, seat 0 first. answer_s: how long the server may take."""
        self.seat, self.look = OVER, None
        self.returns: list[float] = []
        self._views, self._answer_s = views, answer_s
        self._seats = [Seat(name, choose, views.new_key()) for name, choose in seats.items()]
        self._choice: tuple[Seat, str, int] | None = None
        self._fault = ""
        self._news = asyncio.Event()

    seat: int
    look: Look | None

    @property
    def is_over(self) -> bool:
        """Whether it has a result."""
        return bool(self.returns)

    def hear(self, seat: int, lines: list[str]) -> None:
        """Take what the server says to a seat in the room of the battle."""
        for line in lines:
            kind, _, content = line.removeprefix("|").partition("|")
            if kind == "request" and content:
                self._take_request(self._seats[seat], json.loads(content))
            elif kind in ("win", "tie"):
                self._take_result(content if kind == "win" else "")
            elif kind == "error" and content.startswith("[Invalid choice]"):
                self.fail(f"the Showdown server refuses a choice: {content:.200}")
            elif line.startswith(CRASHED):
                self.fail("the simulator of the Showdown server has crashed")
            else:
                self._seats[seat].lines.append(line)
        self._news.set()

    def fail(self, reason: str) -> None:
        """End the battle by no seat's fault."""
        self._fault = self._fault or reason
        self._news.set()

    def apply(self, action: int) -> None:
        """Choose for the seat that was asked last; it is sent by `ready`."""
        seat, look = self._seats[self.seat], self.look
        assert look
        assert seat.request
        text = look.texts[look.legal.index(action)]
        self._choice = seat, text, int(seat.request["rqid"])
        seat.request = None
        if not any(other.request for other in self._seats):
            for other in self._seats:
                other.has_heard = False

    async def ready(self) -> None:
        """Send the last choice and wait until a seat is asked, or all is over.

        Raises BattleError.
        """
        if self._choice:
            (seat, text, number), self._choice = self._choice, None
            await seat.choose(f"/choose {text}", number)
        try:
            async with asyncio.timeout(self._answer_s):
                while not self._has_news():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError as error:
            silent = f"the Showdown server has said nothing for {self._answer_s:g} s"
            raise BattleError(f"{silent} in the battle of {self._join_names()}") from error
        await self._find_next()

    def close(self) -> None:
        """Forget the views of its seats."""
        for seat in self._seats:
            with suppress(BattleError):
                self._views.end(seat.key)

    def _has_news(self) -> bool:
        """Say whether it is known which seat decides next."""
        if self._fault or self.is_over:
            return True
        asked_seats = [seat for seat in self._seats if seat.request]
        is_again = any(seat.request and seat.request.get("update") for seat in self._seats)
        return bool(asked_seats) and (is_again or all(seat.has_heard for seat in self._seats))

    async def _find_next(self) -> None:
        if self._fault and not self.is_over:
            raise BattleError(self._fault)
        if self.is_over:
            self.seat, self.look = OVER, None
            return
        self.seat = next(number for number, seat in enumerate(self._seats) if seat.request)
        seat = self._seats[self.seat]
        assert seat.request
        lines, seat.lines = seat.lines, []
        side = SIDES.index(seat.request["side"]["id"])
        self.look = await self._views.look(seat.key, side, lines, seat.request)

    def _take_request(self, seat: Seat, request: dict[str, Any]) -> None:
        seat.has_heard = True
        if request.get("teamPreview"):
            self.fail("a format with a team preview is not played here")
        # Told again after a choice that the server could not allow, it is asked alone.
        seat.request = None if request.get("wait") else request

    def _take_result(self, winner: str) -> None:
        if self.is_over:
            return
        won = [1.0 if seat.name == winner else -1.0 for seat in self._seats]
        self.returns = won if winner else [0.0] * len(self._seats)

    def _join_names(self) -> str:
        return ", ".join(seat.name for seat in self._seats)
