"""Errors of game servers, the head and discovery."""


class GameServerError(Exception):
    """Root of the errors of this package; the message names the value and what to do."""


class SettingsError(GameServerError):
    """An environment variable has a value that cannot be used."""

    def __init__(self, name: str, value: str, rule: str) -> None:
        self.name, self.value = name, value
        super().__init__(f"{name} is {value!r:.200}: must be {rule}")
