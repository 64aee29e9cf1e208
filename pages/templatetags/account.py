"""What the corner of every page says of who reads it: the way from a page to its admin."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from django import template
from django.db.models import Model
from django.urls import reverse

register = template.Library()


class Managed(NamedTuple):
    """What a page is about: the name of the row in its context, and the name of its model."""

    variable: str
    model: str


# By the name of the address. A campaign is managed on the page of its tournament.
MANAGED: Final = {
    "agent": Managed("agent", "agent"),
    "board": Managed("board", "leaderboard"),
    "match": Managed("match", "match"),
    "node": Managed("worker", "worker"),
    "season": Managed("season", "season"),
    "tournament": Managed("tournament", "tournament"),
}


@register.simple_tag(takes_context=True)
def find_admin_address(context: Mapping[str, Any]) -> str:
    """Return the address of the admin's page of what this page is about; "" where it has none.

    Also for who may not see it there.
    """
    request = context.get("request")
    place = getattr(request, "resolver_match", None)
    managed = MANAGED.get(place.view_name) if place else None
    row = context.get(managed.variable) if managed else None
    user = context.get("user")
    if managed is None or not isinstance(row, Model) or user is None or not user.is_staff:
        return ""
    if not any(user.has_perm(f"matches.{act}_{managed.model}") for act in ("view", "change")):
        return ""
    return reverse(f"admin:matches_{managed.model}_change", args=[row.pk])
