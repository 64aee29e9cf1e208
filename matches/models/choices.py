"""Choices that come from the catalogs: callables, so that no migration lists an id."""

from arena.games import registry as games
from arena.pairing import registry as pairings
from arena.policies import registry as policies

Choices = list[tuple[str, str]]


def game_choices() -> Choices:
    """Return (id, title) of every game."""
    return [(name, games.get(name).spec.title) for name in games.names()]


def policy_choices() -> Choices:
    """Return (id, title) of every policy kind."""
    return [(name, policies.get(name).title) for name in policies.names()]


def pairing_choices() -> Choices:
    """Return (id, title) of every pairing."""
    return [(name, pairings.get(name).title) for name in pairings.names()]
