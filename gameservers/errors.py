"""Errors of game servers, the head and discovery."""


class GameServerError(Exception):
    """Root of the errors of this package; the message names the value and what to do."""
