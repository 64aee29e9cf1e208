"""What must be there to play a match: what its node must have, and the services it asks.

A node says what it has: `cpu` (it plays), `torch` (networks run in its players), and names of its
operator's own. A game names one of them (`GameSpec.capability`). Services are no part of a node:
without one that is alive no match is sent that asks it.
"""

import os
import re
from collections.abc import Collection, Mapping
from importlib.util import find_spec

from arena.errors import NeedsError
from arena.games.showdown.installed import CAPABILITY as SHOWDOWN
from arena.games.showdown.installed import is_playable

CPU, TORCH, GPU, SERVER = "cpu", "torch", "gpu", "server"
SERVICES = (GPU, SERVER)
"""What answers players from elsewhere; no node and no game can take these names."""
PROGRAM = "program."
"""Before the names of programs that decide for agents (arena.programs)."""
MAX_LENGTH = 64
"""Of needs as text: a capability, torch and all services."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.=-]{0,39}")


def refuse_capability(name: str) -> str:
    """Return what a capability must be instead; empty for one that a node or a game can name."""
    if not _NAME.fullmatch(name):
        return "up to 40 letters, digits and _ . = - per name, a letter first"
    if name.lower() in SERVICES:
        return f"no service ({', '.join(SERVICES)}): those are no part of a play node"
    if name.startswith(PROGRAM):
        return "no program: a play node has those that its EVALSITE_PROGRAMS lists"
    return ""


def list_installed(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what a play node of this installation has, unless its operator says otherwise."""
    # Looked for, not imported: the parent of the players computes nothing itself.
    installed = {TORCH: find_spec(TORCH) is not None, SHOWDOWN: is_playable(environ)}
    return (CPU, *(name for name, is_here in installed.items() if is_here))


def plays_matches(capabilities: Collection[str]) -> bool:
    """Say whether who reports these plays; the others answer for networks or serve games."""
    return not set(SERVICES).intersection(capabilities)


class Needs(str):
    """What must be there, as text: `cpu`, `torch`, `cpu+gpu`, `mujoco+torch+gpu` ..."""

    __slots__ = ()

    @classmethod
    def of_match(
        cls,
        capability: str,
        *,
        has_local: bool,
        asks_gpu: bool,
        asks_server: bool = False,
        programs: Collection[str] = (),
    ) -> "Needs":
        """Return what a match needs: of its game, and of where its agents' networks run.

        programs: the capabilities of those that decide in it. Raises NeedsError for too many.
        """
        # What has torch plays, so `cpu` need not be said beside it.
        own = [] if has_local and capability == CPU else [capability]
        more = [TORCH] if has_local and capability != TORCH else []
        services = [name for name, asks in ((GPU, asks_gpu), (SERVER, asks_server)) if asks]
        needs = cls("+".join([*own, *more, *sorted(set(programs)), *services]))
        if len(needs) > MAX_LENGTH:
            raise NeedsError(needs, MAX_LENGTH)
        return needs

    @property
    def capabilities(self) -> frozenset[str]:
        """The capabilities that one node must have together."""
        return frozenset(self.split("+")).difference(SERVICES)

    @property
    def services(self) -> frozenset[str]:
        """What must be alive anywhere."""
        return frozenset(self.split("+")).intersection(SERVICES)

    @property
    def is_networked(self) -> bool:
        """True when some network decides in it."""
        return bool({TORCH, GPU}.intersection(self.split("+")))

    @property
    def programs(self) -> list[str]:
        """The programs that its node must list, by name."""
        of_programs = sorted(name for name in self.capabilities if name.startswith(PROGRAM))
        return [name.removeprefix(PROGRAM) for name in of_programs]

    @property
    def node(self) -> str:
        """The node that can play it, in words."""
        return f"a play node with {' and '.join(sorted(self.capabilities))}"

    def are_met_by(self, capabilities: Collection[str]) -> bool:
        """Say whether a node that has these can play it."""
        return plays_matches(capabilities) and self.capabilities.issubset(capabilities)
