"""Versions of the code of agents and leaderboards: an edit makes a new agent or leaderboard.

Shipped games and kinds declare a version (`rules_version`, `version`): with a hash of the file,
every comment would make a new version of every agent. The version of a plug-in is the hash of its
file: its user edits it all the time and would forget to count up.
"""

from arena import catalogs
from arena.games import registry as games
from arena.policies import registry as policies

LENGTH = 140
SHOWN = 12
"""Digits of a hash that people read."""
FIRST = "1"
"""The first version of a shipped game or kind."""
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


def is_same_version(version: str, own_version: str) -> bool:
    """Say whether two versions are one; code that was shipped before versions has none."""
    return version == own_version or (not version and own_version == FIRST)


def short_version(version: str) -> str:
    """Return a version with its hashes cut short."""
    if not version:
        return "not known"
    return " + ".join(part[:SHOWN] for part in version.split("+"))
