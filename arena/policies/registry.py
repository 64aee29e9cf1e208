"""Which policy kinds there are, by id."""

from typing import cast

from arena import catalogs
from arena.policies.base import PolicyKind

FAMILY = catalogs.Family(
    "arena.policies.catalog", "policy", ("title", "is_batched", "parameters", "refusal", "build")
)


def names() -> tuple[str, ...]:
    """Return the ids of all policy kinds, in order."""
    return catalogs.names(FAMILY)


def get(name: str) -> PolicyKind:
    """Return the policy kind of that id. Raises UnknownNameError."""
    return cast(PolicyKind, catalogs.entry(FAMILY, name))
