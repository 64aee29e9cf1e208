"""Conditions in literals, as partial indexes have them."""

from collections.abc import Iterable

from django.db import models
from django.db.models.expressions import RawSQL


def is_in_state(
    table: str, states: Iterable[models.TextChoices], *, column: str = "state"
) -> RawSQL:
    """Return `state IN (...)`: SQLite finds no partial index for bound values of IN."""
    names = ", ".join(f"'{state.value}'" for state in states)
    return RawSQL(f'"{table}"."{column}" IN ({names})', [], output_field=models.BooleanField())
