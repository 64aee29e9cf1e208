"""Which policy kinds there are, by id."""

from typing import cast

from arena import catalogs
from arena.policies.base import PolicyKind

_PACKAGE = "arena.policies.catalog"


def names() -> tuple[str, ...]:
    """Return the ids of all policy kinds, in order."""
    return catalogs.names(_PACKAGE)


def get(name: str) -> PolicyKind:
    """Return the policy kind of that id. Raises UnknownNameError."""
    return cast(PolicyKind, catalogs.entry(_PACKAGE, "policy", name))
