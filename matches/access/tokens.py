"""Tokens of the API: made with a name, scopes and an end; only their digest is stored."""

from collections.abc import Collection
from datetime import timedelta

from django.contrib.auth.models import Permission, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from knox.crypto import hash_token
from knox.models import AuthToken

from matches.errors import BadInputError, ConflictError, ForbiddenError
from matches.models import Scope, TokenAccess
from matches.models.validation import check_name, find_first_refusal

MAX_DAYS = 3_650
MAX_NAME = 100
MAX_ANCESTORS = 8
"""Django follows a cascade by recursion: a chain of thousands of tokens could not be revoked."""
RIGHTS = {
    Scope.READ: (),
    Scope.SUBMIT: ("add_agent", "add_checkpoint", "add_leaderboard", "add_tournament"),
    Scope.OPERATE: (
        *("change_agent", "change_leaderboard", "change_match", "change_tournament"),
        *("change_worker", "add_nodekey", "view_auditrow"),
        *("view_schedule", "add_schedule", "change_schedule", "delete_schedule"),
        *("add_trainingrun", "change_trainingrun", "change_release"),
        *("add_dataset", "delete_dataset"),
    ),
    Scope.WORKER: ("view_checkpoint",),
}
"""What a user must be allowed to do for a scope to be of use."""
APPS = ("matches", "experience")
"""Whose rights these are."""


@transaction.atomic
def issue_token(
    user: User,
    *,
    name: str,
    scopes: Collection[Scope],
    days: int | None,
    parent: TokenAccess | None = None,
) -> tuple[TokenAccess, str]:
    """Return a new token and its secret, which is nowhere else; `days` None: it never ends.

    A token that is made with another one, its parent, has no scope that the parent lacks, ends with
    it at the latest and is revoked with it. Raises BadInputError (also for a name of no printable
    characters or too many, as lists and audits show it), ForbiddenError for a scope that
    the parent lacks, and ConflictError where it has been revoked meanwhile.
    """
    if not scopes:
        raise BadInputError("scopes", f"choose one or more of {', '.join(Scope.values)}")
    name = _check_name(name)
    if parent is not None:
        parent = _lock_parent(parent, scopes)
    token, secret = AuthToken.objects.create(user, expiry=None)
    own_end = None if days is None else timezone.now() + timedelta(days=days)
    ends = [own_end, None if parent is None else parent.token.expiry]
    # knox takes a lifetime and adds it to its own now: a child would end after its parent.
    token.expiry = min((end for end in ends if end is not None), default=None)
    token.save(update_fields=["expiry"])
    chosen = [scope.value for scope in Scope if scope in scopes]
    access = TokenAccess.objects.create(token=token, name=name, scopes=chosen, parent=parent)
    return access, secret


def grant_rights(user: User, scopes: Collection[Scope]) -> None:
    """Give a user the rights without which a token of these scopes could do nothing."""
    names = [name for scope in scopes for name in RIGHTS[scope]]
    rights = Permission.objects.filter(content_type__app_label__in=APPS, codename__in=names)
    user.user_permissions.add(*rights)


def list_missing_rights(user: User, scopes: Collection[Scope]) -> dict[Scope, list[str]]:
    """Return the rights that a user lacks for each scope; scopes with all rights are left out.

    The names of the rights are without their apps.
    """
    granted_rights = {right.partition(".")[2] for right in user.get_all_permissions()}
    lacking = {
        scope: [name for name in RIGHTS[scope] if name not in granted_rights] for scope in scopes
    }
    return {scope: names for scope, names in lacking.items() if names}


@transaction.atomic
def find_or_issue_token(secret: str, *, user: str, name: str) -> str:
    """Return the secret of a token with all scopes: the given one while it lets in, else a new one.

    The user is made if need be, without a password and with the rights of the scopes.
    """
    owner, is_new = User.objects.get_or_create(username=user)
    if is_new:
        owner.set_unusable_password()
        owner.save()
    scopes = list(Scope)
    # Also of one that is there: a new release may have rights that are new.
    grant_rights(owner, scopes)
    # Only the digest is stored: a secret can be compared, not read again.
    if secret and AuthToken.objects.filter(digest=hash_token(secret)).exists():
        return secret
    return issue_token(owner, name=name, scopes=scopes, days=None)[1]


@transaction.atomic
def revoke_token(access: TokenAccess) -> int:
    """End a token and all that were made with it at once; return how many those were.

    The parents are locked before their children are read: what is being made with one of them
    either stands already or finds its parent gone.
    """
    digests: set[str] = set()
    # Level by level, each in the order of its keys: two who revoke at once cannot block each other.
    level = {access.pk}
    while level:
        locked = TokenAccess.objects.select_for_update().filter(pk__in=level).order_by("pk")
        digests |= set(locked.values_list("token_id", flat=True))
        level = set(TokenAccess.objects.filter(parent__in=level).values_list("pk", flat=True))
    AuthToken.objects.filter(pk__in=digests).delete()
    return len(digests) - 1


def list_tokens(user: User) -> QuerySet[TokenAccess]:
    """Return the tokens that a user may see: its own, an administrator all."""
    tokens = TokenAccess.objects.select_related("token__user")
    return tokens if user.is_superuser else tokens.filter(token__user=user)


def _check_name(name: str) -> str:
    text = name.strip()
    if not 1 <= len(text) <= MAX_NAME:
        raise BadInputError("name", f"{text!r:.80}: give it 1 to {MAX_NAME} characters")
    try:
        check_name(text)
    except ValidationError as error:
        raise BadInputError(*find_first_refusal(error)) from error
    return text


def _lock_parent(parent: TokenAccess, scopes: Collection[Scope]) -> TokenAccess:
    """Return the parent as it stands, locked against being revoked, if it may make such a token."""
    locked = TokenAccess.objects.select_for_update(of=("self",)).select_related("token")
    current = locked.filter(pk=parent.pk).first()
    if current is None:
        raise ConflictError(f"token {parent.pk} has been revoked: make one with another token")
    lacking = [scope.value for scope in scopes if scope.value not in current.scopes]
    if lacking:
        raise ForbiddenError(f"your token lacks {', '.join(lacking)} itself")
    n_ancestors, parent_id = 0, current.parent_id
    while parent_id is not None:
        n_ancestors += 1
        parent_id = TokenAccess.objects.values_list("parent_id", flat=True).get(pk=parent_id)
    if n_ancestors >= MAX_ANCESTORS:
        raise BadInputError(
            "parent",
            f"token {current.pk} is the last of {MAX_ANCESTORS + 1} that were made with one "
            "another: make it with an older one, or with a password",
        )
    return current
