"""The plug-ins of all families of the core, and what is wrong with some."""

from arena import catalogs
from arena.catalogs import PluginProblem
from arena.games import registry as games
from arena.pairing import registry as pairings
from arena.policies import registry as policies
from arena.verdicts import registry as questions

# Architectures need torch: where they are used, inference.architectures.registry has them.
FAMILIES = (games.FAMILY, policies.FAMILY, pairings.FAMILY, questions.FAMILY)


def list_problems() -> list[PluginProblem]:
    """Return the plug-in files and folders that cannot be used, each once."""
    problems = [problem for family in FAMILIES for problem in catalogs.list_problems(family)]
    return list(dict.fromkeys(problems))
