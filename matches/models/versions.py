"""Which code an agent or a leaderboard is made of, so that an edit makes another one of it.

What is shipped declares its version (`rules_version` of a game, `version` of a policy kind): a hash
of its file would make a new version of every agent whenever a comment changes. A plug-in is edited
by its user all the time, who would forget to count up: of it the hash of its file is taken.
"""

from arena import catalogs
from arena.games import registry as games
from arena.policies import registry as policies

LENGTH = 140
SHOWN = 12
"""Digits of a hash that people read."""
FIRST = "1"
"""What a shipped game or kind begins with."""
_ARCHITECTURES = "architectures"


def version_of_game(game: str) -> str:
    """Return the version of the rules. Raises UnknownNameError, CatalogError."""
    return games.version(game)


def version_of_agent(policy: str, architecture: str = "") -> str:
    """Return the version of a policy kind, and of the architecture after a plus if it is a plug-in.

    Raises UnknownNameError, CatalogError.
    """
    # Not loaded: there may be no torch here.
    network = catalogs.file_hash(_ARCHITECTURES, architecture) if architecture else ""
    return "+".join(filter(None, (policies.version(policy), network)))


def is_same_version(version: str, here: str) -> bool:
    """Say whether code of a version is what is here; what was shipped before had no number."""
    return version == here or (not version and here == FIRST)


def short_version(version: str) -> str:
    """Return a version as people read it."""
    if not version:
        return "not known"
    return " + ".join(part[:SHOWN] for part in version.split("+"))
