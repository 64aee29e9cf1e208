"""Tokens of the API: made with a name, scopes and an end; only their digest is stored."""

from collections.abc import Collection
from datetime import timedelta

from django.contrib.auth.models import Permission, User
from django.db import transaction
from django.db.models import QuerySet
from knox.models import AuthToken

from matches.errors import BadInputError
from matches.models import Scope, TokenAccess

MAX_DAYS = 3_650
RIGHTS = {
    Scope.READ: (),
    Scope.SUBMIT: ("add_agent", "add_checkpoint", "add_leaderboard", "add_tournament"),
    Scope.OPERATE: (
        *("change_agent", "change_leaderboard", "change_match", "change_tournament"),
        *("change_worker", "view_auditrow"),
        *("view_schedule", "add_schedule", "change_schedule", "delete_schedule"),
    ),
    Scope.WORKER: ("view_checkpoint",),
}
"""What a user must be allowed to do for a scope to be of use."""


@transaction.atomic
def issue(
    user: User, *, name: str, scopes: Collection[Scope], days: int | None
) -> tuple[TokenAccess, str]:
    """Return a new token and its secret, which is nowhere else; `days` None: it never ends."""
    if not scopes:
        raise BadInputError("scopes", f"choose one or more of {', '.join(Scope.values)}")
    expiry = None if days is None else timedelta(days=days)
    token, secret = AuthToken.objects.create(user, expiry=expiry)
    chosen = [scope.value for scope in Scope if scope in scopes]
    return TokenAccess.objects.create(token=token, name=name, scopes=chosen), secret


def grant(user: User, scopes: Collection[Scope]) -> None:
    """Give a user the rights without which a token of these scopes could do nothing."""
    names = [name for scope in scopes for name in RIGHTS[scope]]
    rights = Permission.objects.filter(content_type__app_label="matches", codename__in=names)
    user.user_permissions.add(*rights)


def revoke(access: TokenAccess) -> None:
    """End a token at once."""
    access.token.delete()


def of(user: User) -> QuerySet[TokenAccess]:
    """Return the tokens that a user may see: its own, an administrator all."""
    shown = TokenAccess.objects.select_related("token__user")
    return shown if user.is_superuser else shown.filter(token__user=user)
