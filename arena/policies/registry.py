"""Which policy kinds there are, by id."""

from collections.abc import Callable, Mapping
from typing import cast

from arena import catalogs
from arena.games.base import GameSpec
from arena.policies.base import PolicyKind
from arena.policies.line_policy import RELEASE

FAMILY = catalogs.Family(
    "arena.policies.catalog", "policy", ("title", "is_batched", "parameters", "refusal", "build")
)

MAX_ERROR = 200
"""Characters of what a plug-in raises."""


def names() -> tuple[str, ...]:
    """Return the ids of all policy kinds, in order."""
    return catalogs.list_ids(FAMILY)


def find_refusal(name: str, spec: GameSpec) -> str | None:
    """Return why a policy kind cannot play a game, None where it can.

    What the code of a plug-in raises is a reason, too. Raises UnknownNameError, CatalogError.
    """
    kind = get(name)
    try:
        return kind.refusal(spec)
    except Exception as error:
        return f"its refusal() raises {type(error).__name__}: {error}"[:MAX_ERROR]


def list_able(spec: GameSpec) -> tuple[str, ...]:
    """Return the ids of the policy kinds that can play a game, in order."""
    return tuple(name for name in names() if find_refusal(name, spec) is None)


def version(name: str) -> str:
    """Return the version of a policy kind: as declared, of a plug-in the SHA-256 of its file.

    Raises UnknownNameError, CatalogError.
    """
    return catalogs.plugin_hash(FAMILY, name) or str(getattr(get(name), "version", 1))


def is_repeatable(name: str) -> bool:
    """Say whether a kind decides by observation and seed alone; one that does not says so.

    Raises UnknownNameError, CatalogError.
    """
    return bool(getattr(get(name), "is_repeatable", True))


def may_change(name: str, parameters: Mapping[str, object]) -> bool:
    """Return whether an agent of this kind may become another while nobody tells.

    Of a kind that is not installed any more nobody knows; a program that has to say which release
    it is stays that one, as far as its word goes.
    """
    return name not in names() or not (is_repeatable(name) or parameters.get(RELEASE.name))


def list_programs(name: str, parameters: Mapping[str, object]) -> tuple[str, ...]:
    """Return the programs that an agent of this kind asks. Raises UnknownNameError, CatalogError.

    Most kinds ask none, and say nothing of it.
    """
    list_own: Callable[[Mapping[str, object]], tuple[str, ...]] | None
    list_own = getattr(get(name), "list_programs", None)
    return list_own(parameters) if list_own is not None else ()


def get(name: str) -> PolicyKind:
    """Return the policy kind of that id. Raises UnknownNameError."""
    return cast(PolicyKind, catalogs.get_entry(FAMILY, name))
