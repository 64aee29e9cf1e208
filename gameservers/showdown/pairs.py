"""Two accounts that meet in battles, one at a time; as many pairs as battles at once."""

import asyncio
from contextlib import suppress
from itertools import count
from typing import Any, Final

from gameservers.showdown.accounts import POKE_ENV_PLAYERS, Account, Place, SeatPlayer
from gameservers.showdown.battle import Battle
from gameservers.showdown.errors import BattleError
from gameservers.showdown.settings import LADDER
from gameservers.showdown.views import Views

LEAVE_S: Final = 5.0
"""For a battle that was given up to end; after that its accounts are not used again."""


class Pair:
    """The accounts of both sides; the second is one of poke-env's own players, or another seat."""

    def __init__(self, own: Account, other: Account, *, is_seat: bool) -> None:
        self.own, self.other, self._is_seat = own, other, is_seat
        self.battle: Battle | None = None
        self._meeting: list[asyncio.Task[Any]] = []

    @property
    def accounts(self) -> tuple[Account, Account]:
        """Both, seat 0 first."""
        return self.own, self.other

    @property
    def fault(self) -> str:
        """Why one of the two is of no use any more; empty while both are."""
        return self.own.fault or self.other.fault

    def prepare(self, views: Views, *, answer_s: float) -> Battle:
        """Return the battle that the accounts hear of from now on."""
        seats = self.accounts if self._is_seat else self.accounts[:1]
        choices = {account.name: account.choose for account in seats}
        self.battle = Battle(views, choices, answer_s=answer_s)
        for number, account in enumerate(self.accounts):
            account.join(self.battle if account in seats else None, number)
        return self.battle

    def challenge(self) -> None:
        """Have one challenge the other."""
        meeting = self.own.player.battle_against(self.other.player, n_battles=1)
        self._meeting = [asyncio.create_task(meeting)]

    async def search(self, *, stagger_s: float) -> None:
        """Have both search the ladder, the second a little later."""
        self._meeting = [asyncio.create_task(self.own.player.ladder(1))]
        await asyncio.sleep(stagger_s)
        self._meeting.append(asyncio.create_task(self.other.player.ladder(1)))

    async def meet(self, *, find_s: float, where: str) -> None:
        """Return once both are in one battle. Raises BattleError."""
        try:
            async with asyncio.timeout(find_s):
                for account in self.accounts:
                    await account.has_begun.wait()
        except TimeoutError as error:
            missing = next(
                account.name for account in self.accounts if not account.has_begun.is_set()
            )
            raise BattleError(
                f"no opponent found {where} for {missing} within {find_s:g} s"
            ) from error
        if self.fault:
            raise BattleError(self.fault)
        if self.own.room != self.other.room:
            raise BattleError(
                f"{where} {self.own.name} met somebody else than {self.other.name}: others search "
                "there, too; use --mode challenge"
            )

    async def leave(self) -> bool:
        """End the battle; say whether both accounts are fit for another one."""
        if self.battle is None:
            return not self.fault
        battle, self.battle = self.battle, None
        battle.close()
        if not battle.is_over:
            await self.own.forfeit()
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                # poke-env has its own account of who plays how many battles.
                await asyncio.gather(*self._meeting)
        has_left = all(task.done() and not task.cancelled() for task in self._meeting)
        if self.fault or not has_left:
            return False
        for account in self.accounts:
            account.forget_battles()
        return True

    async def close(self) -> None:
        """End both connections."""
        for task in self._meeting:
            task.cancel()
        for account in self.accounts:
            await account.close()


class Pool:
    """Pairs that are logged in, made as they are needed."""

    def __init__(
        self, place: Place, views: Views, *, user: str, mode: str, find_s: float, answer_s: float,
        stagger_s: float
    ) -> None:  # fmt: skip
        self._place, self._views, self._user, self._mode = place, views, user, mode
        self._find_s, self._answer_s, self._stagger_s = find_s, answer_s, stagger_s
        self._idle: dict[str, list[Pair]] = {}
        self._numbers = count(1)
        # Who searches alone meets whom it should, and nobody of another pair.
        self._searching = asyncio.Lock()
        self._leaving = set[asyncio.Task[None]]()

    async def begin(self, opponent: str) -> Pair:
        """Return a pair in a battle that has begun. Raises BattleError.

        opponent: a name of POKE_ENV_PLAYERS; empty: the second account is a seat as well.
        """
        pair = await self.acquire(opponent)
        try:
            pair.prepare(self._views, answer_s=self._answer_s)
            if self._mode == LADDER:
                async with self._searching:
                    await pair.search(stagger_s=self._stagger_s)
                    await pair.meet(find_s=self._find_s, where="on the ladder")
            else:
                pair.challenge()
                await pair.meet(find_s=self._find_s, where="by challenge")
        except BaseException:
            await pair.close()
            raise
        return pair

    async def acquire(self, opponent: str) -> Pair:
        """Return two accounts that are logged in. Raises BattleError."""
        idle = self._idle.setdefault(opponent, [])
        while idle:
            pair = idle.pop()
            if not pair.fault:
                return pair
            await pair.close()
        return await self._log_in(opponent)

    def take_back(self, opponent: str, pair: Pair) -> None:
        """Keep a pair for another battle, once it has left the one that it is in."""

        async def leave() -> None:
            if await pair.leave():
                self._idle.setdefault(opponent, []).append(pair)
            else:
                await pair.close()

        task = asyncio.create_task(leave())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _log_in(self, opponent: str) -> Pair:
        number = next(self._numbers)
        kind = POKE_ENV_PLAYERS[opponent] if opponent else SeatPlayer
        own = Account(self._place, f"{self._user}{number}a")
        other = Account(self._place, f"{self._user}{number}b", kind)
        pair = Pair(own, other, is_seat=not opponent)
        try:
            await asyncio.gather(own.log_in(), other.log_in())
        except BaseException:
            await pair.close()
            raise
        return pair
