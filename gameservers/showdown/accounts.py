"""Accounts on a server of Pokemon Showdown, logged in by poke-env."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from poke_env.player import (
    MaxBasePowerPlayer,
    Player,
    RandomPlayer,
    SimpleHeuristicsPlayer,
)
from poke_env.ps_client import AccountConfiguration, ServerConfiguration
from poke_env.teambuilder import Teambuilder
from websockets.exceptions import ConnectionClosed

from gameservers.showdown.battle import Battle
from gameservers.showdown.errors import BattleError

SILENT: Final = 60  # above all levels of logging: what matters is told by us
POKE_ENV_PLAYERS: Final = {
    "random": RandomPlayer,
    "max_power": MaxBasePowerPlayer,
    "heuristics": SimpleHeuristicsPlayer,
}


class SeatPlayer(Player):
    """Logs in, challenges and searches; what it plays is chosen by an agent elsewhere."""

    def choose_move(self, battle: Any) -> Any:
        raise NotImplementedError

    async def _handle_battle_request(self, *_: Any, **__: Any) -> None:
        """Leave requests to `Account.notice`: poke-env would hold the room until an answer."""


class DrawnTeam(Teambuilder):
    """One team of several for each battle."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._packed = [self.join_team(self.parse_showdown_team(text)) for text in texts]

    def yield_team(self) -> str:
        return str(random.choice(self._packed))


class Place(NamedTuple):
    """Where accounts log in, and what they play there."""

    url: str
    login_url: str
    battle_format: str
    password: str
    teams: Sequence[str]
    login_s: float


class Account:
    """One account: what the server tells it goes to the battle that it is in."""

    def __init__(self, place: Place, name: str, kind: type[Player] = SeatPlayer) -> None:
        """Begin to log in; `log_in` waits for it. kind: who chooses."""
        self.name, self.room, self.fault = name, "", ""
        self.opponent = ""
        self.has_begun = asyncio.Event()
        self._place, self._battle, self._seat = place, None, 0
        self.formats = set[str]()
        self._is_logged_in = False
        self._news = asyncio.Event()
        self.player = kind(
            AccountConfiguration(name, place.password or None),
            server_configuration=ServerConfiguration(place.url, place.login_url),
            battle_format=place.battle_format,
            team=DrawnTeam(place.teams) if place.teams else None,
            log_level=SILENT,
            start_listening=False,
            loop=asyncio.get_running_loop(),
        )
        # poke-env adds one to each, and all of them would write.
        self.player.logger.handlers.clear()
        self._client = self.player.ps_client
        self._pass_on: Callable[[str], Awaitable[None]] = self._client._handle_message
        self._client._handle_message = self._take
        self._listening = asyncio.create_task(self._listen())

    _battle: Battle | None

    async def log_in(self) -> None:
        """Return once the server has taken the name. Raises BattleError saying why it has not."""
        try:
            async with asyncio.timeout(self._place.login_s):
                while not (self._is_logged_in or self.fault):
                    await self._news.wait()
                    self._news.clear()
        except TimeoutError as error:
            silent = f"has not logged {self.name} in within {self._place.login_s:g} s"
            raise BattleError(f"the Showdown server at {self._place.url} {silent}") from error
        if self.fault:
            raise BattleError(self.fault)

    def join(self, battle: Battle | None, seat: int) -> None:
        """Take part in a battle that is about to begin; None: only be there."""
        self._battle, self._seat, self.room, self.opponent = battle, seat, "", ""
        self.has_begun.clear()

    async def choose(self, text: str, number: int) -> None:
        """Send a choice for a request of this number. Raises BattleError."""
        try:
            await self._client.send_message(text, self.room, str(number))
        except ConnectionClosed as error:
            raise BattleError(self._tell_loss()) from error

    async def forfeit(self) -> None:
        """Give up the battle that it is in."""
        with suppress(ConnectionClosed):
            await self._client.send_message("/forfeit", self.room)

    def forget_battles(self) -> None:
        """Get ready for another battle; late messages of earlier battles are ignored."""
        self.player.reset_battles()
        self.room = ""

    async def close(self) -> None:
        """End the connection."""
        with suppress(AttributeError, ConnectionClosed):  # it may never have been made
            await self._client._stop_listening()
        self._listening.cancel()

    def fail(self, reason: str) -> None:
        """Note why nothing more comes of this account."""
        self.fault = self.fault or reason
        if self._battle:
            self._battle.fail(self.fault)
        self._news.set()
        self.has_begun.set()

    async def _listen(self) -> None:
        await self._client.listen()
        # It tells nobody why it has ended.
        self.fail(self._tell_loss())

    def _tell_loss(self) -> str:
        url = self._place.url
        if self._is_logged_in:
            return f"the Showdown server at {url} has ended the connection of {self.name}"
        return (
            f"no Showdown server answers at {url}: is it running (./run showdown status), and are "
            "host and port right?"
        )

    async def _take(self, message: str) -> None:
        self._read_notice(message)
        room = message.partition("\n")[0].removeprefix(">")
        if message.startswith(">battle-") and room != self.room:
            return  # of a battle that poke-env has forgotten it would wait for ever to begin
        try:
            await self._pass_on(message)
        except Exception as error:
            # In a task of poke-env's own nobody would hear of it.
            is_login = message.startswith("|challstr|")
            act = f"the login at {self._place.login_url}" if is_login else "poke-env"
            why = " ".join(f"{type(error).__name__}: {error}".split())
            self.fail(f"{act} failed for {self.name}: {why:.300}")
        if not self._is_logged_in and self._client.logged_in.is_set():
            self._is_logged_in = True
            self._news.set()

    def _read_notice(self, message: str) -> None:
        """Look at what the server says before poke-env does."""
        first, *lines = message.split("\n")
        if first.startswith(">battle-"):
            self._read_battle_notice(first[1:], lines)
            return
        for line in (first, *lines):
            kind, _, content = line.removeprefix("|").partition("|")
            if kind == "nametaken":
                self.fail(f"the Showdown server refuses the login of {content.replace('|', ': ')}")
            elif kind == "popup":
                self.fail(f"the Showdown server says: {content.replace('||', ' '):.300}")
            elif kind == "formats":
                self.formats = read_formats(content)
            elif kind == "pm" and "|/error " in content:
                self.fail(f"the Showdown server says: {content.partition('|/error ')[2]:.300}")

    def _read_battle_notice(self, room: str, lines: list[str]) -> None:
        if "|init|battle" in lines and not self.room:
            self.room = room
            self.has_begun.set()
        if room == self.room and self._battle:
            self._battle.hear(self._seat, lines)


def read_formats(text: str) -> set[str]:
    """Return the ids in the server's list of formats, `[Gen 1] Random Battle,f` in it as one."""
    names = (part.rpartition(",")[0] for part in text.split("|"))
    return {"".join(letter for letter in name.lower() if letter.isalnum()) for name in names}
