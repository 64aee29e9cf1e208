"""Open the lines of an order, and keep those that last from one order to the next."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from arena.catalogs import find_plugin_file, list_plugin_folders
from arena.games.base import CHILD
from arena.games.openenv.game import OpenEnvGame
from arena.games.registry import FAMILY
from arena.games.served import ServedGame
from arena.messages import ServerLink
from workers.lines.game_line import Dial, GameLine, ShowWaiting, close_lines
from workers.lines.openenv import OpenEnvTransport
from workers.lines.pipes import ChildPipes
from workers.lines.sockets import SocketTransport
from workers.lines.transport import Transport
from workers.settings import read_answer_s

# Kept beside those of the order in play: a tournament may come back to its servers.
MOST_LINES = 32


class Lines:
    """The lines of one player."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        show_waiting: ShowWaiting,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """show_waiting: says for how long nobody's code runs in this player."""
        self._environ, self._answer_s = environ, read_answer_s(environ)
        self._show_waiting, self._clock = show_waiting, clock
        self._open: dict[tuple[str, ...], GameLine] = {}

    def open_lines(self, game: ServedGame, servers: Sequence[ServerLink]) -> list[GameLine]:
        """Return a line to the child process of a game, or to each of its servers, in order.

        They are dialled when they are used first: a server that is away costs its own matches only.
        """
        spec = game.spec
        if spec.served == CHILD:
            key, folder = ("child", spec.id, *game.command), _find_folder(spec.id)

            def start_child() -> Transport:
                return ChildPipes(
                    game.command, folder=folder, environ=self._environ, limit_s=self._answer_s
                )

            # That of the order before plays on, unless another game came between and ended it.
            line = self._find_line(key, game, start_child, server=spec.id)
            # Its start is no part of the time of its first match, by which orders are measured.
            line.dial_early()
            return [line]
        return [self._open_server(game, server) for server in servers]

    def _open_server(self, game: ServedGame, server: ServerLink) -> GameLine:
        def dial() -> Transport:
            if isinstance(game, OpenEnvGame):
                # Our pass is nothing to an environment of somebody else.
                return OpenEnvTransport(game, server.address, server=server.name)
            return SocketTransport(server.address, server.token)

        key = ("server", game.spec.id, server.name, server.address)
        return self._find_line(key, game, dial, server=server.name, token=server.token)

    def _drop_line(self, key: tuple[str, ...]) -> None:
        if line := self._open.pop(key, None):
            close_lines([line])

    def _find_line(
        self, key: tuple[str, ...], game: ServedGame, dial: Dial, *, server: str, token: str = ""
    ) -> GameLine:
        """Return the line that is open, or a new one where there is none or it has broken."""
        if key in self._open and not self._open[key].is_usable():
            self._drop_line(key)  # its server may have started anew
        line = self._open.pop(key, None)
        if line is None:
            line = GameLine(
                dial,
                game.spec,
                server=server,
                token=token,
                answer_s=self._answer_s,
                show_waiting=self._show_waiting,
                clock=self._clock,
            )
        line.renew(dial, token)
        # Last in the order of their use: the first is the one that is closed.
        self._open[key] = line
        while len(self._open) > MOST_LINES:
            self._open.pop(next(iter(self._open))).close()
        return line


def _find_folder(game: str) -> Path:
    """Return the folder of a game's catalog file, in which its child process starts."""
    for folder in list_plugin_folders(FAMILY.folder):
        if path := find_plugin_file(folder, game):
            return path.parent
    return Path.cwd()
