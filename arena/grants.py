"""What a user may do at one server, and how ACL SETUSER and a server's options say it."""

from dataclasses import dataclass
from typing import Literal

# What every connection of redis-py does before its first command, and kombu when it opens one.
_SESSION = "ping hello auth select client|setinfo client|setname"


@dataclass(frozen=True)
class Grant:
    """Commands that may touch keys of these patterns, or only read or only write them."""

    commands: str
    keys: str
    mode: Literal["", "%R", "%W"] = ""

    @property
    def selector(self) -> str:
        """Return the grant as a rule of its own: none of its commands touches other keys."""
        commands = " ".join(f"+{command}" for command in self.commands.split())
        keys = " ".join(f"{self.mode}~{key}" for key in self.keys.split())
        return f"({commands} {keys})"


@dataclass(frozen=True)
class Rights:
    """What a user may do at one server. `commands` touch no key; `channels` are to talk on."""

    grants: tuple[Grant, ...] = ()
    commands: str = ""
    channels: str = ""

    def __str__(self) -> str:
        """Return the rules; what they do not name is refused."""
        commands = " ".join(f"+{command}" for command in f"{_SESSION} {self.commands}".split())
        channels = "".join(f" &{channel}" for channel in self.channels.split())
        selectors = "".join(f" {grant.selector}" for grant in self.grants)
        return f"resetkeys resetchannels -@all {commands}{channels}{selectors}"
