"""Choices of fields, and the condition that a row is in one of some states.

Those that come from the catalogs are callables, so that no migration lists an id.
"""

from collections.abc import Iterable

from django.db import models
from django.db.models.expressions import RawSQL

from arena.games import registry as games
from arena.pairing import registry as pairings
from arena.policies import registry as policies
from arena.verdicts import registry as questions

Choices = list[tuple[str, str]]

SPRT = ("sprt", "Is A better than B? (sequential test on blocks)")
"""The one question that is not judged by ratings."""


class Placement(models.TextChoices):
    """Where the network of an agent runs; decided on control and carried in the order."""

    LOCAL = "local", "in the player"
    GPU = "gpu", "on the gpu queue"


class SeasonMode(models.TextChoices):
    """What becomes of the results so far when a season begins."""

    RESET = "reset", "everybody starts anew: matches planned before count no more"
    CARRY = "carry", "all results go on to count"


def game_choices() -> Choices:
    """Return (id, title) of every game."""
    return [(name, games.get(name).spec.title) for name in games.names()]


def policy_choices() -> Choices:
    """Return (id, title) of every policy kind."""
    return [(name, policies.get(name).title) for name in policies.names()]


def pairing_choices() -> Choices:
    """Return (id, title) of every pairing."""
    static = [(name, pairings.get(name).title) for name in pairings.names()]
    adaptive = [(name, pairings.get_adaptive(name).title) for name in pairings.adaptive_names()]
    return sorted(static + adaptive)


def question_choices() -> Choices:
    """Return (id, title) of every question that a campaign may ask."""
    return [(name, questions.get(name).title) for name in questions.names()] + [SPRT]


def is_in_state(
    table: str, states: Iterable[models.TextChoices], *, column: str = "state"
) -> RawSQL:
    """Return `state IN (...)` in literals, as partial indexes have it."""
    # Not as bound values: for those SQLite finds no partial index.
    names = ", ".join(f"'{state.value}'" for state in states)
    return RawSQL(f'"{table}"."{column}" IN ({names})', [], output_field=models.BooleanField())
