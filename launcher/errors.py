"""Errors of the set-up; the command line prints their text and exits with 2."""


class SetupError(Exception):
    """The stack cannot start or run as asked; the message names the value and what to do."""
