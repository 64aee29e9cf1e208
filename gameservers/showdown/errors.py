"""Errors of battles on a server of Pokemon Showdown."""

from gameservers.sdk import RefusalError


class BattleError(RefusalError):
    """A battle cannot begin or go on; no seat is to blame. The message says why and what to do."""

    def __init__(self, detail: str) -> None:
        super().__init__("fault", detail)


class SetUpError(Exception):
    """The game server cannot start as asked; the message names the value and what to do."""
